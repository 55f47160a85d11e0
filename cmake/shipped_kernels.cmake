# lib/tilewright/kernels: the kernels that ship, compiled when the project is built (tools/ship_kernels.cpp) for the levels of
# this architecture. Without the compiler module there are none, and the first run of a kernel finds no code.
function(tilewright_ship_kernels)
  if(NOT TARGET tilewright_llvm OR NOT TARGET tilewright)
    return()
  endif()
  set(levels avx2 avx512 avx512_bf16)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(levels neon)
  endif()
  set(folder ${PROJECT_BINARY_DIR}/lib/tilewright/kernels)
  add_executable(ship_kernels ${PROJECT_SOURCE_DIR}/tools/ship_kernels.cpp)
  target_link_libraries(ship_kernels PRIVATE tw_registration ${TILEWRIGHT_LIBRARIES})
  file(GLOB model CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/assets/bard/*)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/shipped_kernels.stamp
    COMMAND ship_kernels ${folder} ${PROJECT_SOURCE_DIR}/assets/bard ${levels}
    COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/shipped_kernels.stamp
    DEPENDS ship_kernels tilewright_llvm ${model}
    COMMENT "Compiling the tile kernels that ship" VERBATIM)
  add_custom_target(shipped_kernels ALL DEPENDS ${PROJECT_BINARY_DIR}/shipped_kernels.stamp)
  include(GNUInstallDirs)
  install(TARGETS tilewright)
  install(DIRECTORY ${folder} DESTINATION lib/tilewright)
endfunction()
