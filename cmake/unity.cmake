# Compiles the files of a target a few at a time, which takes half the time: they share most of what they include. Files of
# one target then share one anonymous namespace; a name that two of them use does not compile, and wants to say more.
# Off in the preset `dev`, where every file is compiled, and read by clang-tidy, as what it is.
option(TILEWRIGHT_UNITY "Compile files of one folder together where it says so" ON)

function(tilewright_unity target)
  if(NOT TILEWRIGHT_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # these files are included by nothing else
  endif()
  # A planted fault takes the place of one file in the library (fuzz/CMakeLists.txt).
  file(GLOB fuzzers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.cmake)
  foreach(fuzzer ${fuzzers})
    set(planted "")
    include(${fuzzer})
    if(planted)
      set_source_files_properties(${PROJECT_SOURCE_DIR}/${planted} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()
