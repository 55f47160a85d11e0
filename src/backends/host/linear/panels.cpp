#include "backends/host/linear/panels.h"

#include <algorithm>
#include <cstring>

#include "backends/host/linear/kernel_table.h"
#include "base/error.h"

namespace tilewright::backends::host {

bool has_panel_layout(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

std::string_view panel_layout_tag(DType dtype) {
  return panel_form(dtype) == PanelForm::pairs16 ? "panel32x2" : "panel32";
}

std::size_t panel_bytes(DType dtype, long K) {
  return static_cast<std::size_t>(panel_form_bytes(panel_form(dtype), K));
}

std::size_t packed_bytes(DType dtype, long N, long K) {
  return static_cast<std::size_t>(panel_count(N)) * panel_bytes(dtype, K);
}

void pack_panels(DType dtype, const void* src, long row_stride, long N, long K, void* dst, long panel_begin,
                 long panel_end) {
  TW_CHECK(reinterpret_cast<std::uintptr_t>(dst) % 64 == 0);
  TW_CHECK(0 <= panel_begin && panel_begin <= panel_end && panel_end <= panel_count(N));
  const KernelTable& kernels = kernel_table(active_isa());
  const std::size_t bytes = panel_bytes(dtype, K);
  const long size = static_cast<long>(dtype_size(dtype));
  for (long panel = panel_begin; panel < panel_end; ++panel) {
    const long row = panel * kPanelColumns;
    kernels.pack({.form = panel_form(dtype),
                  .from = element_of(dtype),
                  .src = static_cast<const char*>(src) + row * row_stride * size,
                  .n_stride = row_stride,
                  .k_stride = 1,
                  .columns = std::min(kPanelColumns, N - row),
                  .k = K,
                  .panel = static_cast<char*>(dst) + static_cast<std::size_t>(panel) * bytes,
                  .stream = true});
  }
}

void unpack_row(DType dtype, const void* packed, long N, long K, long n, void* dst) {
  TW_CHECK(0 <= n && n < N);
  const char* panel =
      static_cast<const char*>(packed) + static_cast<std::size_t>(n / kPanelColumns) * panel_bytes(dtype, K);
  const long column = n % kPanelColumns;
  switch (panel_form(dtype)) {
    case PanelForm::pairs16: {
      auto* to = static_cast<std::uint16_t*>(dst);
      const auto* from = reinterpret_cast<const std::uint16_t*>(panel) + column * 2;
      for (long k = 0; k + 2 <= K; k += 2, from += 64) std::memcpy(to + k, from, 4);
      if (K % 2) to[K - 1] = *from;
      return;
    }
    case PanelForm::plain16:
      for (long k = 0; k < K; ++k)
        static_cast<std::uint16_t*>(dst)[k] = reinterpret_cast<const std::uint16_t*>(panel)[k * 32 + column];
      return;
    case PanelForm::plain32:
      for (long k = 0; k < K; ++k) static_cast<float*>(dst)[k] = reinterpret_cast<const float*>(panel)[k * 32 + column];
      return;
  }
}

}  // namespace tilewright::backends::host
