target_link_libraries(${target} PUBLIC pcre2 utf8proc simdjson::simdjson curl)
target_compile_definitions(${target} PRIVATE TILEWRIGHT_VERSION="${PROJECT_VERSION}")
# Dequantising must round each product and sum as the reference does, also where the processor could fuse them.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/hub/gguf/dequantize.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
