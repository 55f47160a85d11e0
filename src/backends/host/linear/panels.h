// Packed weights of `linear`: panels of 32 outputs, the same bytes on every instruction set.
//
//   "panel32x2" (bf16):     [ceil(N/32)][ceil(K/2)][32][2]   element (n, k) at panel n/32, pair k/2, column n%32, half
//   k%2 "panel32"   (f16, f32): [ceil(N/32)][K][32]
//
// Columns beyond N and the second half of an odd last pair are zero. A panel is contiguous, so rows 32·p … of a packed
// matrix are themselves a packed matrix: parts that lie on panel borders may be joined in one buffer or used alone.
#pragma once

#include <cstddef>
#include <string_view>

#include "tensor/dtype.h"

namespace tilewright::backends::host {

constexpr long kPanelColumns = 32;

// Whether `dtype` has a packed layout (bf16, f16, f32), and its tag.
bool has_panel_layout(DType dtype);
std::string_view panel_layout_tag(DType dtype);

constexpr long panel_count(long N) { return (N + kPanelColumns - 1) / kPanelColumns; }
std::size_t panel_bytes(DType dtype, long K);
std::size_t packed_bytes(DType dtype, long N, long K);

// Packs panels [panel_begin, panel_end) of the matrix src [N, K], whose rows lie `row_stride` elements apart, into dst
// (the whole packed matrix, 64-byte aligned). Different ranges may be packed at the same time. Stores bypass the caches
// where the processor can.
void pack_panels(DType dtype, const void* src, long row_stride, long N, long K, void* dst, long panel_begin,
                 long panel_end);

// Reads row n of a packed [N, K] matrix back: K elements of the same dtype to dst.
void unpack_row(DType dtype, const void* packed, long N, long K, long n, void* dst);

}  // namespace tilewright::backends::host
