target_link_libraries(${target} PUBLIC CLI11::CLI11 pcre2 utf8proc simdjson::simdjson)
