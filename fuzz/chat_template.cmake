# The same target over subscripts that trust their index (TILEWRIGHT_PLANTED_FAULT): the sanitizer must find it.
set(libraries tw_hub)
add_executable(fuzz_chat_template_planted chat_template_fuzz.cpp ${PROJECT_SOURCE_DIR}/src/hub/chat/operators.cpp)
target_compile_definitions(fuzz_chat_template_planted PRIVATE TILEWRIGHT_PLANTED_FAULT)
target_link_options(fuzz_chat_template_planted PRIVATE -fsanitize=fuzzer)
target_link_libraries(fuzz_chat_template_planted PRIVATE tw_hub)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/corpus/chat_template_planted)  # new inputs go there, not into the sources
add_test(NAME fuzz_chat_template_planted COMMAND fuzz_chat_template_planted -max_total_time=60 -artifact_prefix=${PROJECT_BINARY_DIR}/
         ${PROJECT_BINARY_DIR}/corpus/chat_template_planted ${CMAKE_CURRENT_SOURCE_DIR}/corpus/chat_template)
set_tests_properties(fuzz_chat_template_planted PROPERTIES LABELS fuzz TIMEOUT 120 PASS_REGULAR_EXPRESSION "AddressSanitizer")
