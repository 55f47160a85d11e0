#include "engine/tune.h"

#include <algorithm>

#include "base/cpu.h"
#include "base/error.h"
#include "report/envelope.h"
#include "tile/binary/compiler.h"

namespace tilewright::engine {
namespace {

constexpr std::int64_t kLongestPrompt = 512;
constexpr int kMostRehearsals = 4;

struct ResultsWanted {};

// Launches go nowhere. Results would be undefined, so that a pass which waits for them ends there.
class Dropped : public ops::Rewriter {
 public:
  bool hold(ops::Context&, const ops::OpCall&, const ops::Candidate&, bool) override { return false; }
  void submit(ops::Context&, const runtime::Launch&) override {}
  void flush(ops::Context&) override { throw ResultsWanted{}; }
};

class Rehearsal {
 public:
  Rehearsal(ops::Context& context, const models::Model& model, const Work& work)
      : registry_(context.registry()),
        stream_(context.stream()),
        model_(model),
        batch_(work.batch),
        making_(registry_, stream_, {}, nullptr, &dropped_),
        state_(model.make_state(making_, work.batch, nn::round_up_to_bucket(std::max(work.length, work.prompt)))) {}

  // The calls of one pass over `rows` tokens a sequence behind `begin` positions, as far as `chooser` has decided.
  std::vector<ops::SeenCall> calls(std::int64_t begin, std::int64_t rows, ops::Chooser& chooser) {
    const std::vector<std::int32_t> position(static_cast<std::size_t>(batch_), static_cast<std::int32_t>(begin));
    const ops::Tensor& held = state_.position();
    stream_.copy_from_host(held.memory(), held.byte_offset(), position.data(), position.size() * sizeof position[0]);
    std::set<const runtime::Memory*> known;
    for (const nn::NamedTensor& named : state_.tensors) known.insert(&named.tensor.memory());
    ops::CallCollector collector(std::move(known));
    ops::Context context(registry_, stream_, {}, &collector, &dropped_);
    context.set_chooser(&chooser);
    try {
      const ops::Tensor ids = context.empty(DType::i64, {batch_, rows});
      model_.head(context, model_.forward(context, ids, state_, begin));
    } catch (const ResultsWanted&) {
    }
    return collector.take();
  }
  std::int64_t room() const { return state_.max_len; }

 private:
  const ops::Registry& registry_;
  runtime::Stream& stream_;
  const models::Model& model_;
  std::int64_t batch_;
  Dropped dropped_;
  ops::Context making_;
  nn::State state_;
};

}  // namespace

void prepare_calls(ops::Tuner& tuner, ops::Context& context, const models::Model& model, const Work& work) {
  try {
    Rehearsal rehearsal(context, model, work);
    std::vector<ops::SeenCall> all;
    const auto prepare = [&](std::int64_t begin, std::int64_t rows) {
      // A kernel may leave its outputs otherwise in memory than the decomposition, and so make other calls of those
      // that follow.
      for (int again = 0; again < kMostRehearsals; ++again) {
        const std::vector<ops::SeenCall> calls = rehearsal.calls(begin, rows, tuner);
        const int measured = tuner.report().measured;
        tuner.prepare(context.registry(), context.stream(), calls);
        all.insert(all.end(), calls.begin(), calls.end());
        if (tuner.report().measured == measured) break;
      }
    };
    prepare(0, std::min(work.prompt, kLongestPrompt));
    std::int64_t covered = nn::round_up_to_bucket(work.prompt + 1);
    for (std::int64_t begin = work.prompt; begin < std::min(work.length, rehearsal.room());) {
      prepare(begin, 1);
      const std::int64_t next = ops::row_class(covered) + 1;  // the first number of positions in the next class
      covered = nn::round_up_to_bucket(next);
      begin = std::max(begin + 1, next);
    }
    tuner.prepare(context.registry(), context.stream(), all);
  } catch (const Error&) {  // memory: what comes next says so
  }
}

ops::TuningDevice tuning_device(const runtime::Device& device) {
  return {device.name(), cpu_info().model, std::string(isa_name(active_isa())), device.threads(),
          report::tool_version() + " " + tile::compiler_version()};
}

}  // namespace tilewright::engine
