target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/ops/program_fixture.cpp)
set(timeout 300)
# The same laws on lower instruction sets than this processor's.
foreach(isa generic avx2)
  add_test(NAME ops_small.${isa} COMMAND ${target})
  set_tests_properties(ops_small.${isa} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} ENVIRONMENT "TILEWRIGHT_ISA=${isa}"
                       SKIP_REGULAR_EXPRESSION "does not have that instruction set")
endforeach()
