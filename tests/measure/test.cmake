# Fused arms run compiled kernels: those that ship are found beside the build, others are compiled here.
if(TARGET shipped_kernels)
  add_dependencies(${target} tilewright_llvm shipped_kernels)
endif()
