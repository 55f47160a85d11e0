target_link_libraries(${target} PUBLIC CLI11::CLI11 pcre2 utf8proc simdjson::simdjson)
target_compile_options(${target} PRIVATE -O1)  # it parses words and prints; nothing here is waited for
set(together OFF)  # every command names its Options and its run alike
