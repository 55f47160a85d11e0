set(libraries tw_hub)
set(labels tokenizer sanitized_asan)
set(timeout 300)
if(TARGET tilewright)
  add_test(NAME tokenize_command COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tokenizer/tokenize_command.sh $<TARGET_FILE:tilewright>
           ${PROJECT_SOURCE_DIR}/assets/bard ${CMAKE_CURRENT_SOURCE_DIR}/tokenizer/golden)
  set_tests_properties(tokenize_command PROPERTIES LABELS tokenizer TIMEOUT 60 WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
endif()
# The published files, where TILEWRIGHT_REAL_TOKENIZERS names them; skipped otherwise.
add_test(NAME tokenizer_real COMMAND test_tokenizer --gtest_filter=*qwen3*:*llama3_1*:*gemma3*)
set_tests_properties(tokenizer_real PROPERTIES LABELS real TIMEOUT 120 SKIP_REGULAR_EXPRESSION "SKIPPED")
