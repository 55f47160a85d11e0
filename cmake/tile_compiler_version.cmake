# Writes OUTPUT, a header that names the compiler of tile programs: LLVM's release and a hash of the sources that decide
# what code it makes. Part of the key of every cached kernel. Run as a script: cmake -DSOURCES=… -DOUTPUT=… -P
if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB files ${SOURCES}/ir/*.* ${SOURCES}/passes/*.* ${SOURCES}/cost/*.* ${SOURCES}/llvm/*.*)
  list(SORT files)
  set(all "")
  foreach(file ${files})
    file(SHA256 ${file} hash)
    string(APPEND all ${hash})
  endforeach()
  string(SHA256 all "${all}")
  string(SUBSTRING ${all} 0 16 all)
  set(text "// Written by cmake/tile_compiler_version.cmake.\n#pragma once\n#define TILEWRIGHT_TILE_COMPILER_VERSION \"llvm-19 ${all}\"\n")
  file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}" @ONLY)
  file(TOUCH ${OUTPUT}.stamp)
  return()
endif()

function(tilewright_tile_compiler_version target)
  set(header ${PROJECT_BINARY_DIR}/generated/tile/tile_compiler_version.h)
  set(source ${PROJECT_SOURCE_DIR}/src/tile)
  file(GLOB files CONFIGURE_DEPENDS ${source}/ir/*.* ${source}/passes/*.* ${source}/cost/*.* ${source}/llvm/*.*)
  # The stamp is what depends on the sources: the header is rewritten only when its text changes.
  add_custom_command(OUTPUT ${header}.stamp BYPRODUCTS ${header}
    COMMAND ${CMAKE_COMMAND} -DSOURCES=${source} -DOUTPUT=${header} -P ${PROJECT_SOURCE_DIR}/cmake/tile_compiler_version.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/tile_compiler_version.cmake)
  add_custom_target(tile_compiler_version DEPENDS ${header}.stamp)
  add_dependencies(${target} tile_compiler_version)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated/tile)
endfunction()
