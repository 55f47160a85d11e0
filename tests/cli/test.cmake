set(libraries tw_base tw_tensor)
add_dependencies(${target} tilewright)
