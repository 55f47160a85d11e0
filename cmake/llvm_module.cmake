# lib/libtilewright_llvm.so: the compiler of tile programs (src/tile/llvm). It is opened only when something must be
# compiled, and nothing else links libLLVM. It exports one function, tilewright_llvm_compile.
set(default_llvm ON)
if(TILEWRIGHT_SANITIZE)
  set(default_llvm OFF)  # parsers and the runtime are what the sanitizers are after; generated code is not instrumented
endif()
option(TILEWRIGHT_LLVM "Build the compiler of tile programs (Debian package llvm-19-dev)" ${default_llvm})

function(tilewright_add_llvm_module)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/tile/llvm/*.cpp)
  if(NOT sources)
    return()
  endif()
  if(NOT TILEWRIGHT_LLVM)
    message(STATUS "libtilewright_llvm.so: left out (TILEWRIGHT_LLVM is off); what compiles tile programs is not run")
    return()
  endif()
  find_path(LLVM_19_INCLUDE llvm/IR/IRBuilder.h PATHS /usr/lib/llvm-19/include NO_DEFAULT_PATH)
  find_library(LLVM_19_LIBRARY LLVM-19 PATHS /usr/lib/llvm-19/lib NO_DEFAULT_PATH)
  if(NOT LLVM_19_INCLUDE OR NOT LLVM_19_LIBRARY)
    message(FATAL_ERROR "Tilewright needs LLVM 19.\n  install it: apt-get install -y llvm-19-dev\n  or everything at once: tools/install_packages.sh\n  or build without the compiler of tile programs: -DTILEWRIGHT_LLVM=OFF")
  endif()
  set_target_properties(tw_base tw_tensor tw_target tw_tile PROPERTIES POSITION_INDEPENDENT_CODE ON)
  add_library(tilewright_llvm MODULE ${sources})
  target_include_directories(tilewright_llvm SYSTEM PRIVATE ${LLVM_19_INCLUDE})
  tilewright_unity(tilewright_llvm)
  target_link_libraries(tilewright_llvm PRIVATE tw_tile ${LLVM_19_LIBRARY})
  target_compile_options(tilewright_llvm PRIVATE -O1)  # the headers are large, and its own time is not what counts
  set_target_properties(tilewright_llvm PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_options(tilewright_llvm PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/llvm_module.map -Wl,--gc-sections -Wl,-z,defs)
  include(GNUInstallDirs)
  install(TARGETS tilewright_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
