// How compiled tile programs are called.
#pragma once

#include <cstdint>

namespace tilewright::tile {

// Runs blocks begin … end-1 of the program. A program's blocks are the iterations of its outermost parallel loops: of
// each perfect nest of parallel loops at the top level the product of the trip counts, the last loop running fastest,
// and the nests one after the other. (Code outside parallel loops makes the program one block.)
// `tensors`: one address per tensor of the program. `values`: Program::dims in their order; then for each tensor its
// strides in elements, one per dim; then the scalars (f32: its bits in the low half; i64).
// Reentrant: different threads may run different blocks at once. Needs no runtime; scratch memory is on the stack.
using RunFunction = void (*)(void* const* tensors, const std::int64_t* values, std::int64_t begin, std::int64_t end);
// The number of blocks. Bounds of outer parallel loops depend on dims and scalars alone.
using BlocksFunction = std::int64_t (*)(const std::int64_t* values);

}  // namespace tilewright::tile
