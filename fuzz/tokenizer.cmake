# The same target over added tokens that trust the ids they are asked for (TILEWRIGHT_PLANTED_FAULT): the sanitizer must find it.
set(libraries tw_hub)
add_executable(fuzz_tokenizer_planted tokenizer_fuzz.cpp ${PROJECT_SOURCE_DIR}/src/hub/tokenizer/added_tokens.cpp)
target_compile_definitions(fuzz_tokenizer_planted PRIVATE TILEWRIGHT_PLANTED_FAULT)
target_link_options(fuzz_tokenizer_planted PRIVATE -fsanitize=fuzzer)
target_link_libraries(fuzz_tokenizer_planted PRIVATE tw_hub)
add_test(NAME fuzz_tokenizer_planted COMMAND fuzz_tokenizer_planted -max_total_time=60 -artifact_prefix=${PROJECT_BINARY_DIR}/
         ${CMAKE_CURRENT_SOURCE_DIR}/corpus/tokenizer)
set_tests_properties(fuzz_tokenizer_planted PROPERTIES LABELS fuzz TIMEOUT 120 PASS_REGULAR_EXPRESSION "heap-buffer-overflow|runtime error")
