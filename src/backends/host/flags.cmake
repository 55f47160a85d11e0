include(${PROJECT_SOURCE_DIR}/cmake/isa_flags.cmake)
tilewright_isa_flags(${sources})
