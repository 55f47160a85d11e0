target_link_libraries(${target} PUBLIC crypto)
