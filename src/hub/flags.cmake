target_link_libraries(${target} PUBLIC pcre2 utf8proc simdjson::simdjson)
