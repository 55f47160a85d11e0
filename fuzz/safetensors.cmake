# The same target over a reader that trusts the header's length (TILEWRIGHT_PLANTED_FAULT): the sanitizer must find it.
set(libraries tw_hub)
add_executable(fuzz_safetensors_planted safetensors_fuzz.cpp ${PROJECT_SOURCE_DIR}/src/hub/safetensors/header.cpp)
target_compile_definitions(fuzz_safetensors_planted PRIVATE TILEWRIGHT_PLANTED_FAULT)
target_link_options(fuzz_safetensors_planted PRIVATE -fsanitize=fuzzer)
target_link_libraries(fuzz_safetensors_planted PRIVATE tw_hub)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/corpus/safetensors_planted)
add_test(NAME fuzz_safetensors_planted COMMAND fuzz_safetensors_planted -max_total_time=60 -artifact_prefix=${PROJECT_BINARY_DIR}/
         ${PROJECT_BINARY_DIR}/corpus/safetensors_planted ${CMAKE_CURRENT_SOURCE_DIR}/corpus/safetensors)
set_tests_properties(fuzz_safetensors_planted PROPERTIES LABELS fuzz TIMEOUT 120 PASS_REGULAR_EXPRESSION "heap-buffer-overflow")
