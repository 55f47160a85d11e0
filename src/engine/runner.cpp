#include "engine/runner.h"

#include <algorithm>

#include "base/error.h"
#include "engine/capture/capture_work.h"

namespace tilewright::engine {
namespace {

constexpr ops::OpName kArgmax{"argmax"}, kIndexSelect{"index_select"};
constexpr const char* kBestPath = "greedy";
constexpr const char* kLastRowPath = "last_row";

// What tells the graph of a single token at this position from others: 0 for an empty cache.
std::int64_t covered_at(std::int64_t position) { return position == 0 ? 0 : nn::round_up_to_bucket(position + 1); }

void write(runtime::Stream& stream, const ops::Tensor& to, const void* from, std::size_t bytes) {
  stream.copy_from_host(to.memory(), to.byte_offset(), from, bytes);
}

// Takes the context's observer away for as long as it lives.
class Unwatched {
 public:
  explicit Unwatched(ops::Context& context) : context_(context), before_(context.observer()) {
    context.set_observer(nullptr);
  }
  ~Unwatched() { context_.set_observer(before_); }
  Unwatched(const Unwatched&) = delete;

 private:
  ops::Context& context_;
  ops::Observer* before_;
};

}  // namespace

// What a pass leaves, and the graph that leaves it there again.
struct Runner::Captured {
  std::unique_ptr<runtime::ExecutableGraph> graph;
  std::vector<runtime::Binding> bindings;
  ops::Tensor hidden, logits;
  std::int64_t last_position = 0;  // of single tokens: the largest one that it was captured for
};

struct Runner::Prompt {
  ops::Tensor ids;         // i64 [batch, padded]
  ops::Tensor rows, last;  // how many of them are real, i32 [1]; and one less, i64 [1]
  Captured captured;
};

std::int64_t prefill_bucket(std::int64_t rows) {
  for (std::int64_t bucket = 16; bucket < nn::kBucket; bucket *= 2)
    if (rows <= bucket) return bucket;
  return nn::round_up_to_bucket(rows);
}

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

void Runner::choose(const ops::Tensor& logits) {
  ops::Context& context = session_.context();
  const ops::PathScope scope(context, kBestPath);
  ops::call_into(context, kArgmax, {logits}, token_, {{"dim", std::int64_t{-1}}});
  context.flush();
}

void Runner::submit_step(std::int64_t begin, Captured& to) {
  const models::Model& model = session_.model();
  ops::Context& context = session_.context();
  to.hidden = model.forward(context, token_, session_.state(), begin);
  model.advance(context, session_.state(), 1);
  to.logits = model.head(context, to.hidden);
  choose(to.logits);
}

void Runner::submit_prompt(const Prompt& prompt, Captured& to) {
  const models::Model& model = session_.model();
  ops::Context& context = session_.context();
  to.hidden = model.forward(context, prompt.ids, session_.state(), 0);
  model.advance(context, session_.state(), prompt.rows);
  ops::Tensor last;
  {
    const ops::PathScope scope(context, kLastRowPath);
    last = ops::call(context, kIndexSelect, {to.hidden, prompt.last}, {{"dim", std::int64_t{1}}});
  }
  to.logits = model.head(context, last);
  choose(to.logits);
}

// Thread-local mode: sessions of other threads go on working meanwhile.
void Runner::capture(Captured& to, const std::function<void()>& pass) {
  runtime::Stream& stream = session_.stream();
  runtime::Device& device = session_.device();
  const double start = device.now();
  {
    const Unwatched unwatched(session_.context());
    capture_work(stream, runtime::CaptureMode::thread_local_only, pass);
    to.hidden = to.logits = {};
  }
  const double rehearsed = device.now();
  std::shared_ptr<runtime::Graph> graph = capture_work(stream, runtime::CaptureMode::thread_local_only, pass);
  const double captured = device.now();
  to.graph = device.instantiate(std::move(graph));
  costs_.rehearsal_s += rehearsed - start;
  costs_.capture_s += captured - rehearsed;
  costs_.instantiate_s += device.now() - captured;
  ++costs_.graphs;
}

std::vector<runtime::Binding> Runner::bindings(const Prompt* prompt) const {
  std::vector<runtime::Binding> out{{"token", token_}};
  if (prompt) {
    out.push_back({"ids", prompt->ids});
    out.push_back({"rows", prompt->rows});
    out.push_back({"last", prompt->last});
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
  Captured& made = *slot;
  capture(made, [&] { submit_step(last, made); });
  made.last_position = last;
  made.bindings = bindings(nullptr);
  made.graph->require(made.bindings);
  return made;
}

Runner::Prompt& Runner::prompt_of(std::int64_t padded) {
  std::unique_ptr<Prompt>& slot = prompts_[padded];
  if (slot) return *slot;
  slot = std::make_unique<Prompt>();
  ops::Context& context = session_.context();
  slot->ids = context.empty(DType::i64, {session_.batch(), padded});
  slot->rows = context.empty(DType::i32, {1});
  slot->last = context.empty(DType::i64, {1});
  return *slot;
}

Runner::Prompt& Runner::captured_prompt(std::int64_t padded) {
  Prompt& prompt = prompt_of(padded);
  if (prompt.captured.graph) return prompt;
  capture(prompt.captured, [&] { submit_prompt(prompt, prompt.captured); });
  prompt.captured.bindings = bindings(&prompt);
  prompt.captured.graph->require(prompt.captured.bindings);
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
    choose(logits_);
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
  write(stream, prompt.ids, filled.data(), filled.size() * sizeof filled[0]);
  write(stream, prompt.rows, &real, sizeof real);
  write(stream, prompt.last, &last, sizeof last);

  if (graph)
    replay(prompt.captured, &prompt);
  else
    submit_prompt(prompt, prompt.captured);
  session_.skip(rows);
  hidden_ = prompt.captured.hidden.slice(1, 0, rows);
  logits_ = prompt.captured.logits;
}

void Runner::step() {
  session_.check_room(1);
  const std::int64_t begin = session_.length();
  if (submission_ == Submission::graph) {
    Captured& captured = captured_step(begin);
    replay(captured, nullptr);
    hidden_ = captured.hidden;
    logits_ = captured.logits;
  } else {
    Captured now;
    submit_step(begin, now);
    hidden_ = std::move(now.hidden);
    logits_ = std::move(now.logits);
  }
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
