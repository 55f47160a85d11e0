#include "measure/equality_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace tilewright::measure {
namespace {

constexpr double kF32Share = 1e-4;  // of the largest logit
constexpr double kOwnErrors = 1.5;  // times what narrow activations cost eager
constexpr double kFallbackUnits =
    8;  // roundings of the largest logit: two to four times what decoders of 28 layers show

std::vector<float> floats(const HostTensor& tensor) {
  std::vector<float> out(tensor.bytes.size() / dtype_size(tensor.dtype));  // none if there is no tensor
  const auto* narrow = tensor.data<std::uint16_t>();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = tensor.dtype == DType::f32    ? tensor.data<float>()[i]
             : tensor.dtype == DType::bf16 ? bf16_to_float(narrow[i])
                                           : f16_to_float(narrow[i]);
  return out;
}

struct Best {
  std::int64_t token = 0;
  double gap = 0;
};
Best best_of(const float* logits, std::int64_t count) {
  Best out;
  float first = -std::numeric_limits<float>::infinity(), second = first;
  for (std::int64_t i = 0; i < count; ++i) {
    if (logits[i] > first) {
      second = first;
      first = logits[i];
      out.token = i;
    } else if (logits[i] > second) {
      second = logits[i];
    }
  }
  out.gap = static_cast<double>(first) - second;
  return out;
}

std::vector<std::int64_t> read_tokens(engine::Runner& runner) {
  const HostTensor host = runtime::to_host(runner.session().stream(), runner.token());
  return {host.data<std::int64_t>(), host.data<std::int64_t>() + host.elements()};
}

HostTensor read_logits(engine::Runner& runner, const ops::Tensor& logits) {
  HostTensor host = runtime::to_host(runner.session().stream(), logits);
  host.shape = {logits.dim(0), logits.dim(-1)};
  return host;
}

// What two neighbours of f16 or bf16 are apart at `value`.
double last_place(double value, DType dtype) {
  return std::ldexp(1.0, std::ilogb(value) - (dtype == DType::bf16 ? 7 : 10));
}

std::vector<double> gaps_of(const HostTensor& logits) {
  const std::vector<float> values = floats(logits);
  std::vector<double> out;
  for (std::int64_t row = 0; row < logits.shape[0]; ++row)
    out.push_back(best_of(values.data() + row * logits.shape[1], logits.shape[1]).gap);
  return out;
}

// The same with as many positions as are judged, where the context has room: more steps, or a prompt that begins anew.
Pass with_judged_positions(const Pass& pass, std::int64_t context) {
  Pass out = pass;
  if (pass.regime != Regime::prefill) {
    out.steps = std::max(pass.steps, std::min(kJudgedPositions - 1, context - pass.prompt));
    return out;
  }
  out.prompt = std::max(pass.prompt, std::min(kJudgedPositions, context));
  if (out.prompt == pass.prompt) return out;
  out.ids = HostTensor(DType::i64, {pass.batch, out.prompt});
  for (std::int64_t row = 0; row < pass.batch; ++row)
    for (std::int64_t i = 0; i < out.prompt; ++i)
      out.ids.data<std::int64_t>()[row * out.prompt + i] =
          pass.ids.data<std::int64_t>()[row * pass.prompt + i % pass.prompt];
  return out;
}

}  // namespace

EqualityGate::EqualityGate(ArmRun& eager, const Pass& pass, const std::shared_ptr<const engine::LoadedModel>& loaded,
                           const engine::SessionOptions& options, const std::atomic<bool>* interrupted)
    : pass_(pass), interrupted_(interrupted) {
  reference_ = run(eager, nullptr, false, pass.steps, true);
  for (const Position& position : reference_)
    eager_.tokens_compared += static_cast<std::int64_t>(position.tokens.size());
  eager_.tokens_equal = eager_.tokens_compared;
  fix_bound(eager, loaded, options);
}

EqualityGate::Positions EqualityGate::run(ArmRun& arm, const Pass& pass, const Positions* teacher, bool padded,
                                          std::int64_t steps, bool gaps) const {
  if (pass.regime == Regime::prefill) return run_prompt(arm, pass, padded, gaps);
  const ArmRun::Account account(arm);
  engine::Runner& runner = arm.runner();
  Positions out;
  runner.begin(pass.batch, pass.length());
  runner.prefill(pass.ids, padded);
  for (std::int64_t step = 0;; ++step) {
    stop_if(interrupted_);
    Position& now = out.emplace_back();
    now.place = step;
    now.tokens = read_tokens(runner);
    if (step < kJudgedPositions || gaps) {
      HostTensor logits = read_logits(runner, runner.logits());
      if (gaps) now.gaps = gaps_of(logits);
      if (step < kJudgedPositions) now.logits = std::move(logits);
    }
    if (step == steps) return out;
    if (teacher) runner.set_token((*teacher)[static_cast<std::size_t>(step)].tokens);
    runner.step();
  }
}

EqualityGate::Positions EqualityGate::run_prompt(ArmRun& arm, const Pass& pass, bool padded, bool gaps) const {
  stop_if(interrupted_);
  const ArmRun::Account account(arm);
  engine::Runner& runner = arm.runner();
  runner.begin(pass.batch, pass.length());
  runner.prefill(pass.ids, padded);
  Positions out;
  Position last;
  last.place = pass.prompt - 1;
  last.tokens = read_tokens(runner);
  last.logits = read_logits(runner, runner.logits());
  if (gaps) last.gaps = gaps_of(last.logits);
  if (const std::int64_t rows = std::min(kJudgedPositions, pass.prompt - 1); rows > 0) {
    engine::Session& session = runner.session();
    const HostTensor all = runtime::to_host(session.stream(), session.all_logits(runner.hidden().slice(1, 0, rows)));
    for (std::int64_t row = 0; row < rows; ++row) out.push_back(prompt_row(all, row));
  }
  out.push_back(std::move(last));
  return out;
}

// `all`: logits [batch, rows, vocab].
EqualityGate::Position EqualityGate::prompt_row(const HostTensor& all, std::int64_t row) {
  const std::int64_t batch = all.shape[0], rows = all.shape[1], vocabulary = all.shape[2];
  Position out;
  out.place = row;
  out.logits = HostTensor(all.dtype, {batch, vocabulary});
  const std::size_t bytes = static_cast<std::size_t>(vocabulary) * dtype_size(all.dtype);
  for (std::int64_t b = 0; b < batch; ++b)
    std::memcpy(out.logits.bytes.data() + static_cast<std::size_t>(b) * bytes,
                all.bytes.data() + static_cast<std::size_t>(b * rows + row) * bytes, bytes);
  const std::vector<float> values = floats(out.logits);
  for (std::int64_t b = 0; b < batch; ++b) {
    const Best best = best_of(values.data() + b * vocabulary, vocabulary);
    out.tokens.push_back(best.token);
    out.gaps.push_back(best.gap);
  }
  return out;
}

EqualityGate::Worst EqualityGate::worst(const Positions& a, const Positions& b) {
  Worst out;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].logits.bytes.empty() || b[i].logits.bytes.empty()) continue;
    const std::vector<float> x = floats(a[i].logits), y = floats(b[i].logits);
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (x[k] == y[k]) continue;
      const double d = std::isfinite(x[k]) && std::isfinite(y[k]) ? std::abs(static_cast<double>(x[k]) - y[k])
                                                                  : std::numeric_limits<double>::infinity();
      if (d > out.difference) out = {d, a[i].place};
    }
  }
  return out;
}

void EqualityGate::fix_bound(ArmRun& eager, const std::shared_ptr<const engine::LoadedModel>& loaded,
                             const engine::SessionOptions& options) {
  double largest = 0;
  for (const Position& position : reference_)
    for (const float value : floats(position.logits)) {
      if (!std::isfinite(value)) {
        eager_.verdict = Verdict::wrong;
        eager_.worst = std::numeric_limits<double>::infinity();
        eager_.worst_position = position.place;
        eager_.why = fmt::format("eager's logits at position {} are not finite", position.place);
        return;
      }
      largest = std::max(largest, static_cast<double>(std::abs(value)));
    }
  const DType dtype = loaded->model().info().dtype;
  if (dtype == DType::f32) {
    eager_.bound = kF32Share * largest;
    eager_.bound_source = fmt::format("f32: 1e-4 of the largest logit, {:.4g}", largest);
    return;
  }
  try {
    const auto wide = std::make_shared<const engine::LoadedModel>(*loaded, DType::f32);
    ArmRun twin(wide, Arm{}, options);
    const Pass pass = with_judged_positions(pass_, loaded->model().info().context);
    const std::int64_t steps = std::min(pass.steps, kJudgedPositions - 1);
    Positions longer;
    if (pass.length() != pass_.length()) longer = run(eager, pass, nullptr, false, steps, false);
    const Positions& narrow = longer.empty() ? reference_ : longer;
    Positions exact = run(twin, pass, &narrow, false, steps, false);
    for (Position& position : exact) position.logits = position.logits.cast(dtype);
    const Worst own = worst(narrow, exact);
    exact_ = std::move(exact);
    eager_.bound = narrow_bound(own.difference, largest, dtype);
    eager_.bound_source =
        eager_.bound == kOwnErrors * own.difference
            ? fmt::format(
                  "1.5 × the largest difference, {:.4g}, between eager and eager with f32 activations on the "
                  "same weights",
                  own.difference)
            : fmt::format(
                  "one unit in the last place of the largest logit, {:.4g}: eager is nearer than that to eager "
                  "with f32 activations",
                  largest);
  } catch (const Error& e) {
    const double rounding = dtype == DType::bf16 ? 0x1p-8 : 0x1p-11;
    eager_.bound = kFallbackUnits * rounding * largest;
    eager_.bound_source = fmt::format(
        "8 roundings ({:.4g}) of the largest logit, {:.4g}, as eager could not be run with f32 "
        "activations: {}",
        rounding, largest, e.text().what);
  }
}

Equality EqualityGate::judge(ArmRun& arm, ArmRun* ungraphed) const {
  Equality out;
  out.bound = eager_.bound;
  out.bound_source = eager_.bound_source;
  const Positions own = run(arm, &reference_, false, pass_.steps, false);
  compare_logits(own, reference_, exact_, out);
  compare_tokens(own, reference_, out);
  if (!arm.arm().graph || !ungraphed) return out;
  const Positions apart = run(*ungraphed, &reference_, true, std::min(pass_.steps, kJudgedPositions - 1), false);
  compare_bits(own, apart, ungraphed->arm().name(), out);
  return out;
}

double EqualityGate::narrow_bound(double own, double largest, DType dtype) {
  return std::max(kOwnErrors * own, last_place(largest, dtype));
}

void EqualityGate::compare_logits(const Positions& own, const Positions& reference, const Positions& exact,
                                  Equality& out) {
  const Worst far = worst(own, reference);
  out.worst = far.difference;
  out.worst_position = far.place;
  if (far.difference <= out.bound) return;
  const Worst from_exact = exact.empty() ? far : worst(own, exact);
  if (from_exact.difference <= out.bound) {
    out.bound_source += fmt::format("; {:.4g} from that more exact run", from_exact.difference);
    return;
  }
  out.verdict = Verdict::wrong;
  out.why =
      fmt::format("a logit at position {} is off by {:.4g}, more than {:.4g}", far.place, far.difference, out.bound);
}

void EqualityGate::compare_tokens(const Positions& own, const Positions& reference, Equality& out) {
  for (std::size_t i = 0; i < own.size(); ++i)
    for (std::size_t row = 0; row < own[i].tokens.size(); ++row) {
      ++out.tokens_compared;
      if (own[i].tokens[row] == reference[i].tokens[row]) {
        ++out.tokens_equal;
        continue;
      }
      const double gap = reference[i].gaps[row];
      if (gap > out.bound) {
        if (out.verdict != Verdict::wrong)
          out.why = fmt::format(
              "the token at position {} is {} where eager's is {}, whose logit is {:.4g} above the "
              "next, more than {:.4g}",
              own[i].place, own[i].tokens[row], reference[i].tokens[row], gap, out.bound);
        out.verdict = Verdict::wrong;
      } else if (!out.near_tie) {
        out.near_tie = Equality::NearTie{own[i].place, gap};
      }
    }
  if (out.near_tie && out.verdict == Verdict::equal) out.verdict = Verdict::near_tie;
}

void EqualityGate::compare_bits(const Positions& own, const Positions& apart, const std::string& name, Equality& out) {
  out.bitwise = true;
  for (std::size_t i = 0; i < apart.size() && *out.bitwise; ++i) {
    if (apart[i].logits.bytes == own[i].logits.bytes && apart[i].tokens == own[i].tokens) continue;
    out.bitwise = false;
    if (out.verdict != Verdict::wrong)
      out.why = fmt::format(
          "at position {} it differs from {} launch by launch: the same kernels must give the same "
          "bits",
          own[i].place, name);
    out.verdict = Verdict::wrong;
  }
}

}  // namespace tilewright::measure
