#include "support/pass_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "support/launch_timer.h"
#include "support/model_run.h"

namespace tilewright::bench {

bool add_pass_rows(LimitsRun& run, const Program& program, const PassRows& rows) {
  const auto prefill_name = [&](int tokens) {
    return fmt::format("{} prefill bf16 {} {} tokens", rows.title, rows.name, tokens);
  };
  const auto decode_name = [&](int context) {
    return fmt::format("{} decode bf16 {} context {}", rows.title, rows.name, context);
  };
  std::int64_t positions = 1;
  for (const PassRows::Prefill& row : rows.prefill)
    if (run.wants(prefill_name(row.tokens))) positions = std::max<std::int64_t>(positions, row.tokens);
  for (const PassRows::Decode& row : rows.decode)
    if (run.wants(decode_name(row.context)))
      positions = std::max<std::int64_t>(positions, row.context + rows.decode_steps);
  if (positions == 1) return false;
  ModelRun engine(program, "host", run.options().threads, rows.shape, positions);
  const ops::Switches switches = ops::Switches::parse(engine.operators(), rows.fuse);
  ops::Context context(engine.operators(), engine.stream(), switches);
  const bool dot = run.bf16_limit() == LimitKind::bf16_peak;
  for (const PassRows::Prefill& row : rows.prefill)
    run.measure({.what = prefill_name(row.tokens),
                 .unit = "GFLOP/s",
                 .unit_size = 1e9,
                 .limit = run.bf16_limit(),
                 .bar = dot ? row.bar_dot : row.bar_f32},
                [&] {
                  run.settle();
                  return engine.work.prefill_flops(row.tokens) / engine.prefill_seconds(context, row.tokens);
                });
  if (!rows.decode.empty()) engine.fill_cache();
  for (const PassRows::Decode& row : rows.decode) {
    const std::string name = decode_name(row.context);
    run.measure(
        {.what = name, .unit = "tok/s", .limit = LimitKind::read, .bar = row.bar},
        [&] {
          run.settle();
          return rows.decode_steps / engine.decode_seconds(context, rows.decode_steps, row.context);
        },
        engine.work.decode_bytes(row.context + (rows.decode_steps - 1) / 2.0));
    if (!row.where || !run.wants(name)) continue;
    LaunchTimer timer(engine.stream());
    ops::Context watched(engine.operators(), engine.stream(), switches, &timer);
    for (int i = 0; i < 8; ++i) {
      engine.decode_seconds(watched, 1, row.context);
      timer.finish_pass();
    }
    run.note(name + ", where the time goes", timer.table(16), timer.json());
  }
  return true;
}

}  // namespace tilewright::bench
