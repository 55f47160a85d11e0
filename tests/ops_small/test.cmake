target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/ops/program_fixture.cpp)
set(timeout 300)
# The same laws at lower levels. supported_level_fixture.cpp exits with 77 if the processor does not support one.
foreach(isa generic avx2)
  add_test(NAME ops_small.${isa} COMMAND ${target})
  set_tests_properties(ops_small.${isa} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} ENVIRONMENT "TILEWRIGHT_ISA=${isa}"
                       SKIP_RETURN_CODE 77)
endforeach()
