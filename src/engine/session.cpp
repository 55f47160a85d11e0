#include "engine/session.h"

#include <fmt/format.h>

#include "base/error.h"
#include "engine/found_chains.h"
#include "engine/fuse_list.h"
#include "engine/tune.h"

namespace tilewright::engine {
namespace {

constexpr ops::OpName kTakeBest{"argmax"};
constexpr const char* kTakeBestPath = "greedy";

}  // namespace

Session::Session(const Program& program, const SessionOptions& options)
    : Session(std::make_shared<LoadedModel>(program, options), options) {}

Session::Session(std::shared_ptr<const LoadedModel> loaded, const SessionOptions& options)
    : loaded_(std::move(loaded)), stream_(loaded_->device().create_stream()) {
  const ops::Registry& operators = loaded_->program().operators;
  const FuseList list = parse_fuse_list(options.fuse);
  if (list.automatic)
    tuner_ = std::make_unique<ops::Tuner>(ops::TuningStore(ops::user_tuning_folder(), tuning_device(device())));
  const ops::Switches switches = ops::Switches::parse(operators, list.composites);
  context_ = std::make_unique<ops::Context>(operators, *stream_, switches, switches.any() ? &fallbacks_ : nullptr);
  context_->set_chooser(tuner_.get());
  if (!list.found && options.fuse_file.empty()) return;
  const std::string family = device().kernel_family();
  const opgraph::ChainFile identity = chain_identity(options, model().info(), family);
  chains_ = std::make_unique<opgraph::ChainRewriter>(operators, family,
                                                     load_found_chains(options, identity, operators).to_use());
  context_->set_rewriter(chains_.get());
}

Session::~Session() = default;

const ops::FallbackLog& Session::fallbacks() const {
  if (!tuner_) return fallbacks_;
  with_choices_ = fallbacks_;
  tuner_->add_counts(with_choices_);
  return with_choices_;
}

void Session::prepare(std::int64_t batch, std::int64_t prompt, std::int64_t length) {
  if (tuner_) prepare_calls(*tuner_, *context_, model(), {batch, prompt, length});
}

void Session::begin(std::int64_t batch, std::int64_t length) {
  length_ = 0;
  const std::int64_t room = nn::round_up_to_bucket(std::max<std::int64_t>(length, 1));
  if (state_.batch == batch && state_.max_len == room) {
    model().restart(*context_, state_);
    context_->flush();
    return;
  }
  state_ = {};
  const std::uint64_t needed = model().state_bytes(batch, room);
  try {
    // Buffers take memory only as they are written, one by one: asked for together here, not when the system has none.
    if (const std::uint64_t free = device().available_bytes(); needed > free)
      fail({.what = "not enough memory on the device",
            .where = device().name(),
            .expected = fmt::format("{} MiB", needed >> 20),
            .found = fmt::format("{} MiB free", free >> 20),
            .fix = ""});
    state_ = model().make_state(*context_, batch, room);
    context_->flush();
  } catch (const Error& e) {
    fail({.what = fmt::format("no memory for the key-value cache of {} positions ({} MiB): {}", room, needed >> 20,
                              e.text().what),
          .where = device().name(),
          .expected = e.text().expected,
          .found = e.text().found,
          .fix = "use a smaller context (--ctx), fewer new tokens (--max-new-tokens), or free memory"});
  }
}

void Session::check_ids(const HostTensor& ids) const {
  TW_CHECK(ids.dtype == DType::i64 && ids.shape.rank() == 2 && ids.shape[0] == state_.batch);
  const std::int64_t vocabulary = model().info().vocab_size;
  for (std::int64_t i = 0; i < ids.elements(); ++i)
    if (const std::int64_t id = ids.data<std::int64_t>()[i]; id < 0 || id >= vocabulary)
      fail({.what = "a token is outside the model's vocabulary",
            .where = "token " + index_text(i, ids.shape),
            .expected = fmt::format("0 to {}", vocabulary - 1),
            .found = fmt::format("{}", id),
            .fix = "tokenizer and weights must come from one model"});
}

void Session::check_room(std::int64_t rows) const {
  if (length_ + rows > state_.max_len)
    fail({.what = "the sequence is longer than the context that was reserved",
          .where = "key-value cache",
          .expected = fmt::format("at most {} positions", state_.max_len),
          .found = fmt::format("{}", length_ + rows),
          .fix = "reserve more (--ctx) or shorten the prompt"});
}

ops::Tensor Session::run(const HostTensor& ids) {
  check_ids(ids);
  return run(runtime::to_device(context_->stream(), ids));
}

ops::Tensor Session::run(const ops::Tensor& ids) {
  const std::int64_t rows = ids.dim(1);
  check_room(rows);
  ops::Tensor hidden = model().forward(*context_, ids, state_, length_);
  model().advance(*context_, state_, rows);
  context_->flush();
  length_ += rows;
  return hidden;
}

ops::Tensor Session::last_logits(const ops::Tensor& hidden) {
  const std::int64_t rows = hidden.dim(1);
  ops::Tensor logits = model().head(*context_, rows == 1 ? hidden : hidden.slice(1, rows - 1, rows));
  context_->flush();
  return logits;
}

ops::Tensor Session::all_logits(const ops::Tensor& hidden) {
  ops::Tensor logits = model().head(*context_, hidden);
  context_->flush();
  return logits;
}

ops::Tensor Session::best(const ops::Tensor& logits) {
  const ops::PathScope scope(*context_, kTakeBestPath);
  ops::Tensor token = ops::call(*context_, kTakeBest, {logits}, {{"dim", std::int64_t{-1}}});
  context_->flush();
  return token;
}

std::int64_t Session::read_token(const ops::Tensor& token) {
  std::int64_t out = 0;
  runtime::Stream& stream = context_->stream();
  stream.copy_to_host(&out, token.memory(), token.byte_offset(), sizeof out);
  stream.synchronize();
  return out;
}

std::vector<float> Session::read_logits(const ops::Tensor& logits) {
  const HostTensor host = runtime::to_host(context_->stream(), logits);
  std::vector<float> out(static_cast<std::size_t>(host.elements()));
  if (host.dtype == DType::f32)
    std::copy_n(host.data<float>(), out.size(), out.begin());
  else if (host.dtype == DType::bf16)
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = bf16_to_float(host.data<std::uint16_t>()[i]);
  else
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = f16_to_float(host.data<std::uint16_t>()[i]);
  return out;
}

}  // namespace tilewright::engine
