#include "backends/host/linear/kernel_table.h"

#include "base/error.h"

namespace tilewright::backends::host {

const KernelTable& kernel_table(IsaLevel isa) {
#if defined(__x86_64__)
  switch (isa) {
    case IsaLevel::avx512_bf16:
      return kAvx512Bf16Kernels;
    case IsaLevel::avx512:
      return kAvx512Kernels;
    case IsaLevel::avx2:
      return kAvx2Kernels;
    default:
      break;
  }
#else
  (void)isa;
#endif
  return kGenericKernels;
}

Element element_of(DType dtype) {
  TW_CHECK(dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16);
  return dtype == DType::f32 ? Element::f32 : dtype == DType::f16 ? Element::f16 : Element::bf16;
}

PanelForm panel_form(DType w_dtype) {
  switch (element_of(w_dtype)) {
    case Element::bf16:
      return PanelForm::pairs16;
    case Element::f16:
      return PanelForm::plain16;
    default:
      return PanelForm::plain32;
  }
}

long panel_step_k(PanelForm form) { return form == PanelForm::pairs16 ? 2 : 1; }
long panel_step_bytes(PanelForm form) { return form == PanelForm::plain16 ? 64 : 128; }
long panel_form_bytes(PanelForm form, long K) {
  return (K + panel_step_k(form) - 1) / panel_step_k(form) * panel_step_bytes(form);
}

}  // namespace tilewright::backends::host
