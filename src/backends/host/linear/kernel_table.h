// The kernel table of a level, and what a pair of dtypes becomes on it.
#pragma once

#include "backends/host/linear/kernels.h"
#include "base/cpu.h"
#include "tensor/dtype.h"

namespace tilewright::backends::host {

const KernelTable& kernel_table(IsaLevel isa);
Element element_of(DType dtype);      // f32, f16, bf16 only
PanelForm panel_form(DType w_dtype);  // of packed weights
long panel_step_k(PanelForm form);    // values of k per step: 2 for pairs
long panel_step_bytes(PanelForm form);
long panel_form_bytes(PanelForm form, long K);

// [first, second) rows of tile i when `rows` are cut into the fewest tiles of at most `max_rows`, as even as possible.
struct TileSplit {
  TileSplit(long rows, int max_rows)
      : tiles((rows + max_rows - 1) / max_rows), base(tiles ? rows / tiles : 0), extra(tiles ? rows % tiles : 0) {}
  long first(long i) const { return i * base + (i < extra ? i : extra); }
  int rows(long i) const { return static_cast<int>(base + (i < extra)); }
  long tiles, base, extra;
};

}  // namespace tilewright::backends::host
