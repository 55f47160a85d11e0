#include "support/arm_run.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"

namespace tilewright::bench {
namespace {

class LaunchCounter : public ops::Observer {
 public:
  void launched(const runtime::Launch&) override { ++count; }
  long count = 0;
};

engine::SessionOptions with_fuse(engine::SessionOptions options, const measure::Arm& kind, const std::string& fuse) {
  options.fuse = measure::fuse_list(kind, fuse);
  return options;
}

}  // namespace

engine::SessionOptions arm_options(const std::string& shape, const std::string& device, int threads) {
  engine::SessionOptions options;
  if (std::filesystem::is_directory(shape))
    options.model = shape;
  else
    options.dummy_shape = shape;
  options.load.dtype = DType::bf16;
  options.device = device;
  options.device_options.threads = threads;
  return options;
}

std::shared_ptr<const engine::LoadedModel> load_for_arms(const Program& program,
                                                         const engine::SessionOptions& options) {
  return std::make_shared<const engine::LoadedModel>(program, options);
}

ArmRun::ArmRun(std::shared_ptr<const engine::LoadedModel> loaded, engine::SessionOptions options,
               const measure::Arm& kind, const std::string& fuse, std::int64_t length)
    : session_(std::move(loaded), with_fuse(std::move(options), kind, fuse)),
      runner_(session_, kind.submission()),
      ids_(DType::i64, {1, length}) {
  for (std::int64_t i = 0; i < length; ++i)
    ids_.data<std::int64_t>()[i] = i * 7919 % session_.model().info().vocab_size;
  session_.prepare(1, length, length);
  runner_.begin(1, length);
}

void ArmRun::rewind(std::int64_t position, std::int64_t token) {
  const auto place = static_cast<std::int32_t>(position);
  const ops::Tensor& tensor = session_.state().position();
  session_.stream().copy_from_host(tensor.memory(), tensor.byte_offset(), &place, sizeof place);
  session_.skip(position - session_.length());
  runner_.set_token({&token, 1});
  session_.device().synchronize();
}

double ArmRun::prefill_seconds(std::int64_t tokens) {
  HostTensor ids(DType::i64, {1, tokens});
  std::copy_n(ids_.data<std::int64_t>(), tokens, ids.data<std::int64_t>());
  rewind(0);
  const double start = session_.device().now();
  runner_.prefill(ids);
  runner_.read_token();
  return session_.device().now() - start;
}

double ArmRun::decode_seconds(int steps, std::int64_t context, int warm) {
  double start = 0;
  for (int i = -warm; i < steps; ++i) {
    if (i == -warm || i == 0) {
      rewind(context);
      start = session_.device().now();
    }
    runner_.step();
    runner_.read_token();
  }
  return session_.device().now() - start;
}

double ArmRun::submission_seconds(int steps, std::int64_t context) {
  rewind(context);
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    const double start = session_.device().now();
    runner_.step();
    sum += session_.device().now() - start;
    runner_.read_token();
  }
  return sum;
}

void ArmRun::fill_cache() {
  HostTensor values;
  for (nn::NamedTensor& named : session_.state().tensors) {
    const ops::Tensor& tensor = named.tensor;
    if (tensor.rank() != 4) continue;
    if (values.bytes.empty()) {  // one for all layers: making them takes longer than measuring
      HostTensor normal(DType::f32, tensor.shape());
      fill(normal, "normal", 1);
      values = normal.cast(tensor.dtype());
    }
    session_.stream().copy_from_host(tensor.memory(), tensor.byte_offset(), values.bytes.data(), values.bytes.size());
  }
}

long ArmRun::launches_per_token(std::int64_t context) {
  LaunchCounter counter;
  ops::Observer* const before = session_.context().observer();
  rewind(context);
  const ops::Tensor token = runner_.token();
  session_.context().set_observer(&counter);
  session_.best(session_.last_logits(session_.run(token)));
  session_.device().synchronize();
  session_.context().set_observer(before);
  return counter.count;
}

}  // namespace tilewright::bench
