set(libraries tw_base tw_tensor)
set(timeout 300)
add_dependencies(${target} tilewright)
