target_compile_definitions(${target} PRIVATE TILEWRIGHT_VERSION="${PROJECT_VERSION}")
