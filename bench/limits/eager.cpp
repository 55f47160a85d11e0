// Whole eager passes of Qwen3 shapes with random weights: prefill beside the peak, decode beside the bandwidth.
#include "limits/row_groups.h"
#include "support/pass_rows.h"

namespace tilewright::bench {

void add_eager_rows(LimitsRun& run) {
  const Program program;
  const auto rows = [](const char* name, const char* shape, int steps, double bar_f32, double bar_dot,
                       double decode_bar) {
    return PassRows{.title = "eager",
                    .fuse = "none",
                    .name = name,
                    .shape = shape,
                    .decode_steps = steps,
                    .prefill = {{512, bar_f32, bar_dot}, {128, bar_f32, bar_dot}},
                    .decode = {{64, decode_bar}}};
  };
  add_pass_rows(run, program, rows("0.6B", "Qwen3-0.6B", 8, 0.65, 0.50, 0.75));
  add_pass_rows(run, program, rows("1.7B", "Qwen3-1.7B", 4, 0.75, 0.65, 0.85));
  PassRows context = rows("0.6B", "Qwen3-0.6B", 8, 0, 0, 0);
  context.prefill = {};
  context.decode = {{4096, {}, true}};
  add_pass_rows(run, program, context);
}

}  // namespace tilewright::bench
