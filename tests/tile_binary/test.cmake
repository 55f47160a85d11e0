set(libraries tw_tile)
set(labels tile_binary sanitized_asan)
foreach(name kernel outside writes)
  add_library(tile_object_${name} OBJECT ${CMAKE_CURRENT_SOURCE_DIR}/tile_binary/object/${name}.cc)
  # As the compiler module would: no tables for exceptions, no instrumentation.
  target_compile_options(tile_object_${name} PRIVATE -O2 -fPIC -ffreestanding -fno-exceptions -fno-asynchronous-unwind-tables
    -fno-stack-protector -fno-sanitize=all -fno-lto)
  target_compile_definitions(${target} PRIVATE TILE_OBJECT_${name}="$<TARGET_OBJECTS:tile_object_${name}>")
  add_dependencies(${target} tile_object_${name})
endforeach()
