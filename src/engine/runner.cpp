#include "engine/runner.h"

#include "base/error.h"

namespace tilewright::engine {
namespace {

constexpr ops::OpName kArgmax{"argmax"};
constexpr const char* kBestPath = "greedy";

}  // namespace

struct Runner::Captured {
  std::unique_ptr<runtime::ExecutableGraph> graph;
};

std::int64_t prefill_bucket(std::int64_t rows) {
  for (std::int64_t bucket = 16; bucket < nn::kBucket; bucket *= 2)
    if (rows <= bucket) return bucket;
  return nn::round_up_to_bucket(rows);
}

Runner::Runner(Session& session, Submission submission) : session_(session), submission_(submission) {
  if (submission == Submission::graph)
    fail({.what = "graphs are not captured yet", .where = "runner", .expected = "", .found = "", .fix = ""});
}

Runner::~Runner() = default;

void Runner::begin(std::int64_t batch, std::int64_t length) {
  session_.begin(batch, length);
  if (!token_.defined() || token_.dim(0) != batch) token_ = session_.context().empty(DType::i64, {batch, 1});
}

void Runner::prepare(std::int64_t, std::int64_t) {}

void Runner::prefill(const HostTensor& ids, bool) {
  hidden_ = session_.run(ids);
  logits_ = session_.last_logits(hidden_);
  const ops::PathScope scope(session_.context(), kBestPath);
  ops::call_into(session_.context(), kArgmax, {logits_}, token_, {{"dim", std::int64_t{-1}}});
  session_.context().flush();
}

void Runner::step() {
  hidden_ = session_.run(token_);
  logits_ = session_.last_logits(hidden_);
  const ops::PathScope scope(session_.context(), kBestPath);
  ops::call_into(session_.context(), kArgmax, {logits_}, token_, {{"dim", std::int64_t{-1}}});
  session_.context().flush();
}

void Runner::set_token(std::span<const std::int64_t> ids) {
  TW_CHECK(static_cast<std::int64_t>(ids.size()) == token_.dim(0));
  session_.stream().copy_from_host(token_.memory(), token_.byte_offset(), ids.data(), ids.size_bytes());
}

std::int64_t Runner::read_token() { return session_.read_token(token_); }

const runtime::ExecutableGraph* Runner::decode_graph(std::int64_t) const { return nullptr; }
const runtime::ExecutableGraph* Runner::prefill_graph(std::int64_t) const { return nullptr; }

}  // namespace tilewright::engine
