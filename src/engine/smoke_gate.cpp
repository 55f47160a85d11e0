#include "engine/smoke_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "engine/golden_check.h"
#include "hub/tokenizer/tokenizer.h"

namespace tilewright::engine {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr double kShareOfGuessing = 0.85;
constexpr std::int64_t kMostPassageTokens = 256;  // a tokenizer of single bytes would make it several times longer
constexpr std::int64_t kLeastPassageTokens = 16;
constexpr std::int64_t kPromptTokens = 24, kNewTokens = 32;
constexpr std::int64_t kCycleTokens = 12, kCycleRepeats = 3;
constexpr const char* kReplacement = "\xef\xbf\xbd";  // U+FFFD: what bytes that are no UTF-8 are decoded to

HostTensor as_row(std::span<const std::int64_t> ids) {
  HostTensor out(DType::i64, {1, static_cast<std::int64_t>(ids.size())});
  std::copy(ids.begin(), ids.end(), out.data<std::int64_t>());
  return out;
}

// −log p of token `id` under one row of logits.
double surprise(std::span<const float> logits, std::int64_t id) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum) - logits[static_cast<std::size_t>(id)];
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

std::string quoted(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return "\"" + text + "\"";
}

class Gate {
 public:
  Gate(Session& session, const SmokeRequest& request)
      : session_(session), request_(request), vocabulary_(session.model().info().vocab_size) {}

  SmokeResult run() {
    guarded("tokenizer", [&] { read_passage(); });
    if (!failed_) guarded("finite logits", [&] { run_passage(); });
    if (!failed_ && !stop()) guarded("finite logits", [&] { continue_passage(); });
    if (!failed_) {
      judge_finite();
      judge_passage();
      judge_text();
      judge_cycle();
    }
    std::vector<std::filesystem::path> goldens = hub::goldens_beside(request_.model);
    goldens.insert(goldens.end(), request_.goldens.begin(), request_.goldens.end());
    for (const auto& golden : goldens)
      if (!stop()) guarded(golden.filename().string(), [&] { judge_golden(golden); });
    out_.interrupted = stop();
    return out_;
  }

 private:
  bool stop() const { return request_.interrupted && request_.interrupted->load(std::memory_order_relaxed); }
  void doing(std::string_view what) const {
    if (request_.doing) request_.doing(what);
  }
  template <typename F>
  void guarded(const std::string& check, F&& action) {
    try {
      action();
    } catch (const Error& error) {
      failed_ = true;
      out_.checks.push_back({.name = check, .passed = false, .note = error.what()});
    }
  }
  std::int64_t longest() const { return std::min(kMostPassageTokens, session_.model().info().context); }

  void read_passage() {
    std::error_code ignored;
    if (std::filesystem::exists(request_.model / "tokenizer.json", ignored)) {
      tokenizer_ = hub::Tokenizer::load(request_.model);
      const auto ids = tokenizer_->encode(smoke_passage(), true);
      passage_.assign(ids.begin(), ids.end());
    } else {
      std::mt19937_64 random(0);
      for (int i = 0; i < 64; ++i)
        passage_.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(vocabulary_)));
    }
    if (static_cast<std::int64_t>(passage_.size()) > longest()) passage_.resize(static_cast<std::size_t>(longest()));
  }

  void run_passage() {
    doing("passage");
    session_.begin(1, static_cast<std::int64_t>(passage_.size()));
    const std::vector<float> logits = session_.read_logits(session_.all_logits(session_.run(as_row(passage_))));
    finite_ = all_finite(logits);
    if (!finite_ || passage_.size() < 2) return;
    const auto width = static_cast<std::size_t>(vocabulary_);
    double sum = 0;
    for (std::size_t i = 0; i + 1 < passage_.size(); ++i)
      sum += surprise(std::span(logits).subspan(i * width, width), passage_[i + 1]);
    mean_surprise_ = sum / static_cast<double>(passage_.size() - 1);
  }

  void continue_passage() {
    if (!finite_) return;
    doing("greedy tokens");
    const std::int64_t prompt =
        std::min<std::int64_t>({kPromptTokens, static_cast<std::int64_t>(passage_.size()), longest()});
    const std::int64_t steps = std::min(kNewTokens, longest() - prompt);
    session_.begin(1, prompt + steps);
    const Ids& ends = session_.model().info().end_tokens;
    ops::Tensor logits =
        session_.last_logits(session_.run(as_row(std::span(passage_).first(static_cast<std::size_t>(prompt)))));
    for (std::int64_t step = 0; step < steps && !stop(); ++step) {
      if (!(finite_ = all_finite(session_.read_logits(logits)))) return;
      const ops::Tensor best = session_.best(logits);
      const std::int64_t token = session_.read_token(best);
      if (std::find(ends.begin(), ends.end(), token) != ends.end()) return;
      tokens_.push_back(token);
      logits = session_.last_logits(session_.run(best));
    }
  }

  void judge_finite() {
    out_.checks.push_back({.name = "finite logits",
                           .passed = finite_,
                           .note = finite_
                                       ? fmt::format("{} tokens, {} more generated", passage_.size(), tokens_.size())
                                       : "a logit is NaN or infinite"});
  }

  void judge_passage() {
    SmokeCheck check{.name = "passage", .bound = kShareOfGuessing * std::log(static_cast<double>(vocabulary_))};
    if (!tokenizer_)
      check.note = "not judged: the model has no tokenizer.json";
    else if (!finite_)
      return;  // said already
    else if (static_cast<std::int64_t>(passage_.size()) < kLeastPassageTokens)
      check.note = fmt::format("not judged: the context holds {} tokens only", passage_.size());
    else {
      check.value = mean_surprise_;
      check.note = fmt::format("mean −log p of {} tokens of English; guessing gives {:.3g}", passage_.size() - 1,
                               std::log(static_cast<double>(vocabulary_)));
      if (request_.cut)
        check.note += "; not judged: layers are cut off";
      else
        check.passed = mean_surprise_ <= *check.bound;
    }
    if (!check.value || request_.cut) check.bound.reset();
    out_.checks.push_back(std::move(check));
  }

  void judge_text() {
    if (!finite_) return;
    SmokeCheck check{.name = "text"};
    if (!tokenizer_) {
      check.note = "not judged: the model has no tokenizer.json";
      out_.checks.push_back(std::move(check));
      return;
    }
    std::vector<std::int32_t> ids;
    for (const std::int64_t token : tokens_) {
      ids.push_back(static_cast<std::int32_t>(token));
      if (check.passed && !tokenizer_->has_token(ids.back())) {
        check.passed = false;
        check.note = fmt::format("token {} was generated, which the tokenizer does not have", token);
      }
    }
    std::string text = tokenizer_->decode(ids, true);
    while (text.ends_with(kReplacement)) text.resize(text.size() - 3);  // a character that goes on
    if (check.passed) {
      check.passed = text.find(kReplacement) == std::string::npos;
      check.note = (check.passed ? "" : "not valid UTF-8: ") + quoted(text);
    }
    if (request_.cut && !check.passed) {
      check.passed = true;
      check.note += "; not judged: layers are cut off";
    }
    out_.checks.push_back(std::move(check));
  }

  void judge_cycle() {
    if (!finite_ || !tokenizer_) return;
    SmokeCheck check{.name = "cycle", .note = "none"};
    if (const auto cycle = token_cycle(tokens_)) {
      check.warning = true;
      check.note = fmt::format("the greedy tokens end in a cycle of {}, {} times", cycle->period, cycle->repeats);
    }
    out_.checks.push_back(std::move(check));
  }

  void judge_golden(const std::filesystem::path& path) {
    doing(path.filename().string());
    SmokeCheck check{.name = path.filename().string()};
    if (request_.cut) {
      check.note = "not judged: layers are cut off";
    } else {
      const CheckResult result = check_golden(session_, hub::read_golden(path));
      check.passed = result.verdict != Verdict::different;
      check.value = result.worst_error;
      check.bound = result.bound;
      check.note = fmt::format("{}; {} of {} greedy tokens equal", verdict_name(result.verdict), result.greedy_equal,
                               result.greedy_tokens);
      if (!result.reason.empty()) check.note += "; " + result.reason;
    }
    out_.checks.push_back(std::move(check));
  }

  Session& session_;
  const SmokeRequest& request_;
  std::int64_t vocabulary_;
  std::optional<hub::Tokenizer> tokenizer_;
  Ids passage_, tokens_;
  bool finite_ = true, failed_ = false;
  double mean_surprise_ = 0;
  SmokeResult out_;
};

}  // namespace

bool SmokeResult::passed() const {
  return !checks.empty() && !interrupted &&
         std::all_of(checks.begin(), checks.end(), [](const SmokeCheck& c) { return c.passed; });
}

SmokeResult smoke_gate(Session& session, const SmokeRequest& request) { return Gate(session, request).run(); }

Json smoke_json(const SmokeResult& result) {
  if (!result.skipped.empty()) return {{"skipped", result.skipped}};
  // JSON has no infinity.
  const auto number = [](std::optional<double> v) { return v && std::isfinite(*v) ? Json(*v) : Json(); };
  Json checks = Json::array();
  for (const SmokeCheck& c : result.checks)
    checks.push_back({{"name", c.name},
                      {"value", number(c.value)},
                      {"bound", number(c.bound)},
                      {"passed", c.passed},
                      {"warning", c.warning},
                      {"note", c.note}});
  return {{"ran", !result.interrupted}, {"passed", result.passed()}, {"checks", std::move(checks)}};
}

SmokeResult smoke_from_json(const Json& json, const std::string& where) {
  SmokeResult out;
  out.skipped = optional_or<std::string>(json, "skipped", "", where);
  if (!out.skipped.empty()) return out;
  out.interrupted = !required<bool>(json, "ran", where);
  const auto checks = json.find("checks");
  if (checks == json.end() || !checks->is_array())
    fail(
        {.what = "a smoke gate without checks", .where = where, .expected = "\"checks\": […]", .found = "", .fix = ""});
  const auto number = [&](const Json& check, const char* key) -> std::optional<double> {
    if (!check.contains(key) || check[key].is_null()) return {};
    return required<double>(check, key, where);
  };
  for (const Json& check : *checks)
    out.checks.push_back({required<std::string>(check, "name", where), number(check, "value"), number(check, "bound"),
                          required<bool>(check, "passed", where), optional_or<bool>(check, "warning", false, where),
                          optional_or<std::string>(check, "note", "", where)});
  return out;
}

std::string_view smoke_passage() {
  return "It was late in the year, and the night was cold. The old man sat by the fire with his daughter, and they "
         "heard the wind at the door. \"Good father,\" said she, \"who comes so late to our house?\" \"I know not,\" "
         "said he; \"go, child, and see.\" She took the light in her hand and went to the door. There stood a young "
         "man, wet with the rain, and he said: \"Lady, I have come a long way, and I have lost my horse and my "
         "friends. "
         "I pray you, let me sit by your fire.\" Then the old man rose and said, \"Come in, sir, and be welcome. What "
         "we have is yours; tomorrow we will go with you and look for your friends.\"";
}

std::optional<TokenCycle> token_cycle(std::span<const std::int64_t> tokens) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  for (std::int64_t period = 1; period * kCycleRepeats <= count; ++period) {
    std::int64_t same = 0;  // tokens from the end that equal the one a period earlier
    while (same + period < count) {
      const auto at = static_cast<std::size_t>(count - 1 - same);
      if (tokens[at] != tokens[at - static_cast<std::size_t>(period)]) break;
      ++same;
    }
    const std::int64_t repeats = same / period + 1;
    if (repeats >= kCycleRepeats && repeats * period >= kCycleTokens) return TokenCycle{period, repeats};
  }
  return {};
}

}  // namespace tilewright::engine
