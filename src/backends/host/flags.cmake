include(${PROJECT_SOURCE_DIR}/cmake/isa_flags.cmake)
tilewright_isa_flags(${sources})
# The device needs no operator, the linear layer no device: sanitized tests of them build no more.
tilewright_part(${target} device "src/backends/host/[a-z_]+\\.cpp$" EXCEPT "/register\\.cpp$" LINKS tw_runtime)
tilewright_part(${target} linear "src/backends/host/linear/" LINKS tw_tensor)
set(together OFF)
tilewright_unity(${target}_device)
