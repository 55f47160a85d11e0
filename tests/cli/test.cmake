set(together OFF)  # these programs name their helpers alike
set(libraries tw_base tw_tensor tw_report tw_hub_server)
set(timeout 300)
add_dependencies(${target} tilewright)
if(TARGET shipped_kernels)
  add_dependencies(${target} tilewright_llvm shipped_kernels)
endif()
