# The same target over a reader that trusts tensor offsets (TILEWRIGHT_PLANTED_FAULT): the sanitizer must find it.
set(libraries tw_hub)
add_executable(fuzz_gguf_planted gguf_fuzz.cpp ${PROJECT_SOURCE_DIR}/src/hub/gguf/gguf_file.cpp)
target_compile_definitions(fuzz_gguf_planted PRIVATE TILEWRIGHT_PLANTED_FAULT)
target_link_options(fuzz_gguf_planted PRIVATE -fsanitize=fuzzer)
target_link_libraries(fuzz_gguf_planted PRIVATE tw_hub)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/corpus/gguf_planted)
add_test(NAME fuzz_gguf_planted COMMAND fuzz_gguf_planted -max_total_time=60 -artifact_prefix=${PROJECT_BINARY_DIR}/
         ${PROJECT_BINARY_DIR}/corpus/gguf_planted ${CMAKE_CURRENT_SOURCE_DIR}/corpus/gguf)
set_tests_properties(fuzz_gguf_planted PROPERTIES LABELS fuzz TIMEOUT 120 PASS_REGULAR_EXPRESSION "AddressSanitizer|UndefinedBehaviorSanitizer|runtime error")
