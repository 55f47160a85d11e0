tilewright_part(${target} device "/null_device\\.cpp$" LINKS tw_runtime)
