#include "arms/bare_loop.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "backends/host/linear/linear.h"
#include "backends/host/linear/panels.h"
#include "base/error.h"

namespace tilewright::bench {
namespace {

using namespace backends::host;

struct Seen {
  ops::Tensor input, weight;
};

class LinearCalls : public ops::Observer {
 public:
  void call_begins(const ops::OpCall& call, const char*) override {
    if (call.op.schema.name == "linear") seen.push_back({call.input(0), call.input(1)});
  }
  std::vector<Seen> seen;
};

bool same_place(const ops::Tensor& a, const ops::Tensor& b) {
  return &a.memory() == &b.memory() && a.byte_offset() == b.byte_offset();
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Where each member has arrived: written by one, read by the others.
struct alignas(128) Arrived {
  std::atomic<unsigned> phase{0};
};

}  // namespace

struct BareLoop::Product {
  LinearProblem problem;
  LinearPlan plan;  // a block is a panel
};

BareLoop::BareLoop(engine::Session& session, target::SpinTeam& team) : team_(team) {
  LinearCalls calls;
  ops::Observer* const before = session.context().observer();
  session.context().set_observer(&calls);
  session.last_logits(session.run(HostTensor(DType::i64, {1, 1})));
  session.device().synchronize();
  session.context().set_observer(before);
  TW_CHECK(!calls.seen.empty());

  std::int64_t most_rows = 0, most_columns = 0, outputs = 0;
  for (const Seen& seen : calls.seen) {
    most_rows = std::max(most_rows, seen.weight.dim(0));
    most_columns = std::max(most_columns, seen.weight.dim(1));
  }
  const auto size = [](std::int64_t elements) { return static_cast<std::size_t>(elements) * 2 + 4096; };
  input_ = std::make_unique<target::PagedBuffer>(size(most_columns), true);
  output_ = std::make_unique<target::PagedBuffer>(size(3 * most_rows), true);
  const ops::Tensor* last_input = nullptr;
  for (Seen& seen : calls.seen) {
    const DType dtype = seen.weight.dtype();
    const std::int64_t N = seen.weight.dim(0), K = seen.weight.dim(1);
    TW_CHECK(dtype == DType::bf16 && seen.weight.layout() != runtime::Layout::strided);
    if (!last_input || !same_place(*last_input, seen.input)) {
      phases_.emplace_back();
      outputs = 0;
    }
    last_input = &seen.input;
    weights_.push_back(seen.weight);
    Product product;
    product.problem = {
        .x = input_->data(),
        .x_dtype = dtype,
        .x_row_stride = K,
        .packed =
            static_cast<const char*>(session.device().export_pointer(seen.weight.memory())) + seen.weight.byte_offset(),
        .w_dtype = dtype,
        .M = 1,
        .N = N,
        .K = K,
        .y = output_->data() + static_cast<std::size_t>(outputs) * dtype_size(dtype),
        .y_dtype = dtype,
        .y_row_stride = N,
    };
    outputs += N;
    TW_CHECK(phases_.back().size() < 3);
    product.plan = plan_linear(1, N, K, dtype, dtype, team.size());
    TW_CHECK(product.plan.prepare_blocks == 0);
    product.plan.panels_per_block = 1;
    product.plan.panel_blocks = product.plan.blocks = static_cast<std::uint32_t>(panel_count(N));
    product.plan.stride_guess = 1;
    bytes_ += static_cast<double>(packed_bytes(dtype, N, K));
    phases_.back().push_back(product);
  }
  for (std::int64_t k = 0; k < most_columns; ++k) {
    const std::uint16_t value = float_to_bf16(0.03125f);  // nothing becomes denormal or overflows
    std::memcpy(input_->data() + k * 2, &value, 2);
  }
}

BareLoop::~BareLoop() = default;

std::size_t BareLoop::products() const { return weights_.size(); }

// The panels of a phase lie in one row that is cut into equal parts.
void BareLoop::run_share(const Phase& phase, int member) const {
  std::uint32_t total = 0;
  for (const Product& product : phase) total += product.plan.blocks;
  const auto members = static_cast<std::uint32_t>(team_.size()), me = static_cast<std::uint32_t>(member);
  const std::uint32_t begin = total * me / members, end = total * (me + 1) / members;
  std::uint32_t first = 0;
  for (const Product& product : phase) {
    const std::uint32_t last = first + product.plan.blocks;
    if (begin < last && end > first)
      linear_run(product.problem, product.plan, std::max(begin, first) - first, std::min(end, last) - first);
    first = last;
  }
}

double BareLoop::seconds(int tokens, int warm) {
  const target::SpinTeam::Timing timing(team_);
  std::vector<Arrived> arrived(static_cast<std::size_t>(team_.size()));
  double start = 0, end = 0;
  team_.run([&](int member) {
    Arrived& mine = arrived[static_cast<std::size_t>(member)];
    unsigned number = 0;
    for (int token = -warm; token < tokens; ++token) {
      if (token == 0 && member == 0) start = target::seconds_now();
      for (const Phase& phase : phases_) {
        run_share(phase, member);
        mine.phase.store(++number, std::memory_order_release);
        for (const Arrived& other : arrived)
          while (other.phase.load(std::memory_order_acquire) < number) relax();
      }
    }
    if (member == 0) end = target::seconds_now();
  });
  return end - start;
}

}  // namespace tilewright::bench
