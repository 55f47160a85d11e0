#include "limits/first_token.h"

#include <fmt/format.h>

#include "base/process_memory.h"
#include "support/model_run.h"
#include "target/spin_team.h"

namespace tilewright::bench {

int first_token(const std::string& directory, int threads) {
  static constexpr ops::OpName kArgmax{"argmax"};
  const double start = target::seconds_now();
  const Program program;
  const auto device = program.devices.open("host", {.threads = threads});
  ops::Context context(program.operators, device->default_stream());
  const auto model = models::load_model(context, program.families, directory, {});
  nn::State state = model->make_state(context, 1, nn::kBucket);
  context.stream().synchronize();
  const double loaded = target::seconds_now();
  HostTensor prompt(DType::i64, {1, 8});
  for (std::int64_t i = 0; i < 8; ++i) prompt.data<std::int64_t>()[i] = 100 + i;
  ops::Tensor ids = runtime::to_device(context.stream(), prompt);
  double first = 0;
  std::int64_t begin = 0, token = 0;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t rows = ids.dim(1);
    const ops::Tensor hidden = model->forward(context, ids, state, begin);
    const ops::Tensor logits = model->head(context, hidden.slice(1, rows - 1, rows));
    ids = ops::call(context, kArgmax, {logits}, {{"dim", std::int64_t{-1}}});
    model->advance(context, state, rows);
    begin += rows;
    context.stream().copy_to_host(&token, ids.memory(), ids.byte_offset(), sizeof token);
    if (i == 0) first = target::seconds_now();
  }
  fmt::print("{}\n", Json{{"load_s", loaded - start},
                          {"first_token_s", first - start},
                          {"weight_bytes", model->info().weight_bytes},
                          {"vmrss_bytes", resident_bytes()},
                          {"vmhwm_bytes", peak_resident_bytes()}}
                         .dump());
  return 0;
}

}  // namespace tilewright::bench
