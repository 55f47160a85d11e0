include(${PROJECT_SOURCE_DIR}/cmake/tile_compiler_version.cmake)
tilewright_tile_compiler_version(${target})
target_link_libraries(${target} PUBLIC ${CMAKE_DL_LIBS})
