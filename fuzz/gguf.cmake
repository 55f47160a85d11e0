# A reader that trusts tensor offsets.
set(planted src/hub/gguf/gguf_file.cpp)
