// The style sheet of all charts, for a light and a dark screen. Part colours can be told apart with any colour vision
// (Okabe and Ito's set, lightened on dark ground).
#pragma once

#include <string>

namespace tilewright::report {

// CSS text without <style>. Classes: part-matmul, part-attention, part-norm, part-elementwise, part-move, part-other;
// part-kernels, part-submission, part-bubbles, part-compile; part-host; tone-good, tone-caution, tone-bad,
// tone-neutral.
std::string chart_style();

// "part-matmul" for a class of operators; "part-other" for one that is not known.
std::string class_part(const std::string& op_class);

}  // namespace tilewright::report
