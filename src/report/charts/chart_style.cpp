#include "report/charts/chart_style.h"

#include <algorithm>
#include <array>

namespace tilewright::report {

std::string chart_style() {
  return R"(:root{--ink:#1b1f24;--faint:#57606a;--ground:#ffffff;--box:#f3f5f7;--line:#d0d7de;--link:#0b5cad;
--good:#007a54;--caution:#9a5b00;--bad:#b3261e;--neutral:#8a939c;
--blue:#0072b2;--orange:#e69f00;--green:#009e73;--red:#d55e00;--pink:#cc79a7;--sky:#56b4e9;--gray:#8a939c}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--faint:#a3adb7;--ground:#14171a;--box:#1f2428;--line:#3a4148;
--link:#7ab8f5;--good:#3fb98b;--caution:#e0a33a;--bad:#ff7b72;--neutral:#8a939c;
--blue:#4aa3df;--orange:#f0b429;--green:#2fbf95;--red:#f0803c;--pink:#dd99bf;--sky:#8accf2;--gray:#8a939c}}
svg.chart{display:block;overflow:visible;margin:.4rem 0}
svg text{font:inherit;font-size:14px;fill:var(--ink)}
svg text.value{fill:var(--faint);font-variant-numeric:tabular-nums}
svg text.label{font-weight:600}
svg .track{fill:var(--box)}
svg .whisker{stroke:var(--ink);stroke-width:1.5}
svg .reference{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:3 2}
.tone-good{fill:var(--good)}.tone-caution{fill:var(--orange)}.tone-bad{fill:var(--bad)}.tone-neutral{fill:var(--neutral)}
.part-matmul,.part-kernels{fill:var(--blue)}.part-attention,.part-submission{fill:var(--orange)}.part-norm{fill:var(--green)}
.part-elementwise,.part-bubbles{fill:var(--red)}.part-move,.part-compile{fill:var(--pink)}.part-other{fill:var(--gray)}
.part-host{fill:var(--sky)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0;margin:.3rem 0;color:var(--faint)}
.legend li{display:flex;align-items:center;gap:.35rem}
)";
}

std::string class_part(const std::string& op_class) {
  static constexpr std::array kKnown = {"matmul", "attention", "norm", "elementwise", "move"};
  return "part-" + (std::find(kKnown.begin(), kKnown.end(), op_class) == kKnown.end() ? "other" : op_class);
}

}  // namespace tilewright::report
