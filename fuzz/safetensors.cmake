# A reader that trusts the header's length.
set(planted src/hub/safetensors/header.cpp)
set(planted_report "heap-buffer-overflow")
