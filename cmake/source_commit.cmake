# Links programs with the commit of the source tree they are built from: `tool.commit` of every report. Looked up whenever
# such a program is built; the file, and with it the program, changes only when the commit does, and no library knows it.
# Run as a script: cmake -DSOURCE=… -DOUTPUT=… -P
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  set(commit "")
  find_program(git git)
  if(git)
    execute_process(COMMAND ${git} -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    file(REAL_PATH ${SOURCE} here)
    if("${top}" STREQUAL "${here}")  # not some repository that the sources were unpacked in
      execute_process(COMMAND ${git} -C ${SOURCE} describe --always --abbrev=12 --dirty=+changes
                      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
  endif()
  file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "// Written by cmake/source_commit.cmake.
namespace tilewright::report {
const char* linked_source_commit();
const char* linked_source_commit() { return \"@commit@\"; }
}  // namespace tilewright::report
" @ONLY)
  return()
endif()

function(tilewright_link_source_commit)
  if(NOT TARGET tw_source_commit)
    set(file ${PROJECT_BINARY_DIR}/generated/source_commit.cpp)
    add_custom_target(look_up_source_commit BYPRODUCTS ${file} COMMENT ""
      COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${file} -P ${PROJECT_SOURCE_DIR}/cmake/source_commit.cmake)
    add_library(tw_source_commit OBJECT ${file})
    set_source_files_properties(${file} PROPERTIES GENERATED ON)
    add_dependencies(tw_source_commit look_up_source_commit)
  endif()
  foreach(program ${ARGN})
    target_link_libraries(${program} PRIVATE tw_source_commit)
  endforeach()
endfunction()
