#include "engine/runner.h"

#include <algorithm>

#include "base/error.h"
#include "engine/capture/capture_work.h"
#include "engine/observed.h"

namespace tilewright::engine {
namespace {

// What tells the graph of a single token at this position from others: 0 for an empty cache.
std::int64_t covered_at(std::int64_t position) { return position == 0 ? 0 : nn::round_up_to_bucket(position + 1); }

void write(runtime::Stream& stream, const ops::Tensor& to, const void* from, std::size_t bytes) {
  stream.copy_from_host(to.memory(), to.byte_offset(), from, bytes);
}

}  // namespace

// What a pass leaves, and the graph that leaves it there again.
struct Runner::Captured {
  std::unique_ptr<runtime::ExecutableGraph> graph;
  std::vector<runtime::Binding> bindings;
  PassOutput out;
  std::int64_t last_position = 0;  // of single tokens: the largest one that it was captured for
};

struct Runner::Prompt {
  PaddedPrompt tensors;
  Captured captured;
};

Runner::Runner(Session& session, Submission submission) : session_(session), submission_(submission) {
  if (submission == Submission::graph && session.chains())
    fail({.what = "found chains cannot be captured: they hold launches back",
          .where = "--fuse found",
          .expected = "",
          .found = "",
          .fix = "leave `found` out where graphs are captured"});
}

Runner::~Runner() = default;

void Runner::begin(std::int64_t batch, std::int64_t length) {
  asked_ = length;
  const std::int64_t room = nn::round_up_to_bucket(std::max<std::int64_t>(length, 1));
  if (session_.batch() != batch || session_.room() != room) {
    steps_.clear();
    prompts_.clear();
    hidden_ = logits_ = {};
  }
  session_.begin(batch, length);
  if (!token_.defined() || token_.dim(0) != batch) token_ = session_.context().empty(DType::i64, {batch, 1});
}

void Runner::prepare(std::int64_t prompt, std::int64_t length) {
  if (submission_ == Submission::eager) return;
  asked_ = std::max(asked_, length);
  if (prompt > 0) captured_prompt(prefill_bucket(prompt));
  for (std::int64_t position = prompt; position < length; position = std::max<std::int64_t>(1, covered_at(position)))
    captured_step(position);
}

// The prompt, or a single token at `begin`.
PassOutput Runner::submit(const Prompt* prompt, std::int64_t begin) {
  ops::Context& context = session_.context();
  if (prompt) return submit_prompt(context, session_.model(), session_.state(), prompt->tensors, token_);
  return submit_step(context, session_.model(), session_.state(), token_, begin);
}

// Thread-local mode: sessions of other threads go on working meanwhile.
void Runner::capture(Captured& to, const Prompt* prompt, std::int64_t begin) {
  runtime::Stream& stream = session_.stream();
  runtime::Device& device = session_.device();
  constexpr auto kMode = runtime::CaptureMode::thread_local_only;
  const double start = device.now();
  {
    const Observed nobody(session_.context(), nullptr);
    capture_work(stream, kMode, [&] { submit(prompt, begin); });
  }
  const double rehearsed = device.now();
  std::shared_ptr<runtime::Graph> graph = capture_work(stream, kMode, [&] { to.out = submit(prompt, begin); });
  const double captured = device.now();
  to.graph = device.instantiate(std::move(graph));
  costs_.rehearsal_s += rehearsed - start;
  costs_.capture_s += captured - rehearsed;
  costs_.instantiate_s += device.now() - captured;
  ++costs_.graphs;
  to.bindings = bindings(prompt);
  to.graph->require(to.bindings);
}

std::vector<runtime::Binding> Runner::bindings(const Prompt* prompt) const {
  std::vector<runtime::Binding> out{{"token", token_}};
  if (prompt) {
    out.push_back({"ids", prompt->tensors.ids});
    out.push_back({"rows", prompt->tensors.rows});
    out.push_back({"last", prompt->tensors.last});
  }
  for (const nn::NamedTensor& named : session_.state().tensors) out.push_back({named.name, named.tensor});
  return out;
}

Runner::Captured& Runner::captured_step(std::int64_t begin) {
  std::unique_ptr<Captured>& slot = steps_[covered_at(begin)];
  if (slot && slot->graph && begin <= slot->last_position) return *slot;
  // A model may do something else at a later position of the same bucket (a scaling that follows the length): what is
  // captured is the last one that is needed.
  const std::int64_t covered = covered_at(begin);
  const std::int64_t last = begin == 0 ? 0 : (begin < asked_ ? std::min(covered, asked_) : covered) - 1;
  slot = std::make_unique<Captured>();
  capture(*slot, nullptr, last);
  slot->last_position = last;
  return *slot;
}

Runner::Prompt& Runner::prompt_of(std::int64_t padded) {
  std::unique_ptr<Prompt>& slot = prompts_[padded];
  if (slot) return *slot;
  slot = std::make_unique<Prompt>();
  ops::Context& context = session_.context();
  slot->tensors = {.ids = context.empty(DType::i64, {session_.batch(), padded}),
                   .rows = context.empty(DType::i32, {1}),
                   .last = context.empty(DType::i64, {1})};
  return *slot;
}

Runner::Prompt& Runner::captured_prompt(std::int64_t padded) {
  Prompt& prompt = prompt_of(padded);
  if (!prompt.captured.graph) capture(prompt.captured, &prompt, 0);
  return prompt;
}

void Runner::replay(Captured& captured, const Prompt* prompt) {
  // The state of other sequences than it was captured with: the runtime says so.
  if (&captured.bindings.back().tensor.memory() != &session_.state().tensors.back().tensor.memory())
    captured.bindings = bindings(prompt);
  session_.stream().replay(*captured.graph, captured.bindings);
}

void Runner::prefill(const HostTensor& ids, bool padded) {
  if (submission_ == Submission::eager && !padded) {
    hidden_ = session_.run(ids);
    logits_ = session_.last_logits(hidden_);
    choose_token(session_.context(), logits_, token_);
    return;
  }
  TW_CHECK(session_.length() == 0);
  session_.check_ids(ids);
  const std::int64_t rows = ids.shape[1], bucket = prefill_bucket(rows);
  session_.check_room(rows);  // what is padded fits where the rows do: room is whole buckets
  const bool graph = submission_ == Submission::graph;
  Prompt& prompt = graph ? captured_prompt(bucket) : prompt_of(bucket);

  std::vector<std::int64_t> filled;
  for (std::int64_t b = 0; b < ids.shape[0]; ++b) {
    const std::int64_t* row = ids.data<std::int64_t>() + b * rows;
    filled.insert(filled.end(), row, row + rows);
    filled.resize(filled.size() + static_cast<std::size_t>(bucket - rows), row[rows - 1]);
  }
  const auto real = static_cast<std::int32_t>(rows);
  const std::int64_t last = rows - 1;
  runtime::Stream& stream = session_.stream();
  write(stream, prompt.tensors.ids, filled.data(), filled.size() * sizeof filled[0]);
  write(stream, prompt.tensors.rows, &real, sizeof real);
  write(stream, prompt.tensors.last, &last, sizeof last);

  if (graph)
    replay(prompt.captured, &prompt);
  else
    prompt.captured.out = submit(&prompt, 0);
  session_.skip(rows);
  hidden_ = prompt.captured.out.hidden.slice(1, 0, rows);
  logits_ = prompt.captured.out.logits;
}

void Runner::step() {
  session_.check_room(1);
  const std::int64_t begin = session_.length();
  PassOutput out;
  if (submission_ == Submission::graph) {
    Captured& captured = captured_step(begin);
    replay(captured, nullptr);
    out = captured.out;
  } else {
    out = submit(nullptr, begin);
  }
  hidden_ = std::move(out.hidden);
  logits_ = std::move(out.logits);
  session_.skip(1);
}

void Runner::set_token(std::span<const std::int64_t> ids) {
  TW_CHECK(static_cast<std::int64_t>(ids.size()) == token_.dim(0));
  write(session_.stream(), token_, ids.data(), ids.size_bytes());
}

std::int64_t Runner::read_token() { return session_.read_token(token_); }

const runtime::ExecutableGraph* Runner::decode_graph(std::int64_t position) const {
  const auto found = steps_.find(covered_at(position));
  return found == steps_.end() ? nullptr : found->second->graph.get();
}

const runtime::ExecutableGraph* Runner::prefill_graph(std::int64_t rows) const {
  const auto found = prompts_.find(prefill_bucket(rows));
  return found == prompts_.end() ? nullptr : found->second->captured.graph.get();
}

}  // namespace tilewright::engine
