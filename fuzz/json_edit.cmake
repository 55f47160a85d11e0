# A reader of strings that trusts their closing quote to come.
set(planted src/hub/patch/json_edit.cpp)
set(planted_report "heap-buffer-overflow")
set(libraries tw_hub)
