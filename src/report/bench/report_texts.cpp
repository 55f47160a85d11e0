#include "report/bench/report_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tilewright::report {
namespace {

// Joins what is there.
std::string joined(const std::vector<std::string>& parts, const char* between = ", ") {
  std::string out;
  for (const std::string& part : parts)
    if (!part.empty()) out += (out.empty() ? "" : between) + part;
  return out;
}

std::string rate_with_unit(Number per_second, const char* unit) {
  return per_second ? significant_text(*per_second * 1e-9) + " " + unit : "";
}

}  // namespace

std::string model_text(const ModelFacts& model) {
  std::string layers = model.layers ? count_text(model.layers) + " layers" : "";
  if (model.cut && !layers.empty()) layers += " (cut: the model has more)";
  std::string weights = model.weights == "dummy" ? "random weights" : model.weights == "file" ? "" : model.weights;
  if (model.weight_bytes) weights = joined({weights, bytes_text(model.weight_bytes) + " of weights"});
  return joined({model.name.empty() ? "a model without name" : model.name, model.family, model.description, model.dtype,
                 layers, weights});
}

std::string machine_text(const Fingerprint& m) {
  std::string load;
  for (const double one : m.load_average) load += fmt::format("{}{:.2f}", load.empty() ? "load " : " ", one);
  return joined({m.cpu, m.isa,
                 m.threads.value_or(0) > 0 ? count_text(m.threads) + (m.threads == 1 ? " thread" : " threads") : "",
                 m.governor.empty() ? "" : "governor " + m.governor, load,
                 m.memory.value_or(0) > 0 ? bytes_text(m.memory) + " of memory" : "", m.system});
}

std::string limits_text(const MeasuredLimits& l) {
  const auto named = [](const char* name, const std::string& text) { return text.empty() ? "" : name + text; };
  const std::string all = joined(
      {named("f32 ", rate_with_unit(l.f32_flops, "GFLOP/s")), named("bf16 ", rate_with_unit(l.bf16_flops, "GFLOP/s")),
       named("read ", rate_with_unit(l.read_bytes, "GB/s")), named("copy ", rate_with_unit(l.copy_bytes, "GB/s")),
       l.barrier_s ? "barrier " + seconds_text(l.barrier_s) : ""});
  return all.empty() ? "not measured" : all + " (measured in this run)";
}

std::string command_text(const std::vector<std::string>& command) {
  std::string out;
  for (const std::string& word : command) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) ||
             std::string_view("-_./,=+:@%").find(c) != std::string_view::npos;
    });
    std::string quoted;
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += (out.empty() ? "" : " ") + (plain ? word : "'" + quoted + "'");
  }
  return out;
}

Facts header_facts(const BenchReport& report) {
  Facts out;
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) out.emplace_back(name, text);
  };
  if (report.has_bench) {
    add("model", model_text(report.model));
    add("regime", joined({report.regime, report.regime_reason}, ": "));
    std::string settings, seeds;
    for (const auto& [name, text] : report.settings) settings += (settings.empty() ? "" : ", ") + name + " " + text;
    for (const auto& [name, text] : report.seeds) seeds += (seeds.empty() ? "" : ", ") + name + " " + text;
    add("settings", settings);
    add("machine", machine_text(report.fingerprint));
    add("limits", limits_text(report.limits));
    add("seeds", seeds);
  }
  add("run", joined({report.created, joined({"tilewright", report.tool_version, report.tool_commit}, " ")}));
  add("command", command_text(report.command));
  return out;
}

std::string case_text(const BenchCase& one) {
  std::string tokens = one.tokens ? count_text(one.tokens) + (one.tokens == 1 ? " token" : " tokens") : "";
  if (one.tokens && one.padded_tokens && *one.padded_tokens > *one.tokens && *one.padded_tokens > 0)
    tokens += fmt::format(", padded to {} ({} of the work is padding)", *one.padded_tokens,
                          percent_text(1 - static_cast<double>(*one.tokens) / static_cast<double>(*one.padded_tokens)));
  std::string limit;
  if (one.limit_s && *one.limit_s > 0) {
    limit = "limit " + seconds_text(one.limit_s);
    if (one.tokens) limit += ", " + rate_text(static_cast<double>(*one.tokens) / *one.limit_s) + " tok/s";
    if (!one.limit_kind.empty()) limit += " (" + one.limit_kind + ")";
  }
  return joined({tokens, limit}, "; ");
}

bool is_claimed(const Arm& arm) {
  const Ratio* ratio = arm.shown_ratio();
  return ratio && ratio->claimed && ratio->low && ratio->high && arm.seconds.size() >= kLeastRounds &&
         (*ratio->low > 1 || *ratio->high < 1);
}

std::string ratio_cell(const Arm& arm) {
  const Ratio* ratio = arm.shown_ratio();
  if (!ratio) return kNothing;
  std::string out = ratio_text(ratio->value);
  if (ratio->low && ratio->high && arm.seconds.size() >= kLeastRounds)
    out += " [" + ratio_text(ratio->low) + ",\u00a0" + ratio_text(ratio->high) + "]";
  return is_claimed(arm) ? out : out + " no\u00a0claim";
}

bool is_shown(const Difference& difference, const BenchCase& one) {
  return std::none_of(one.arms.begin(), one.arms.end(), [&](const Arm& arm) {
    return arm.is_wrong() && (arm.name == difference.from || arm.name == difference.to);
  });
}

std::string ratio_base(const BenchCase& one) {
  for (const Arm& arm : one.arms)
    if (arm.ratio && !arm.ratio->against.empty()) return arm.ratio->against;
  return "eager";
}

std::string verdict_text(const Arm& arm) {
  if (arm.is_wrong()) return "wrong";
  if (arm.status != "measured") return arm.status;
  if (arm.equality && !arm.equality->verdict.empty()) return arm.equality->verdict;
  return "–";
}

std::string verdict_details(const Arm& arm) {
  std::string out;
  if (const auto& e = arm.equality) {
    if (e->worst && e->bound) {
      out = "largest logit difference " + significant_text(e->worst);
      if (e->worst_position) out += " at position " + count_text(e->worst_position);
      out += ", bound " + significant_text(e->bound);
      if (!e->bound_source.empty()) out += " (" + e->bound_source + ")";
    }
    if (e->tokens_compared)
      out = joined({out, count_text(e->tokens_equal) + " of " + count_text(e->tokens_compared) + " tokens equal"});
    if (e->near_tie)
      out = joined(
          {fmt::format("near-tie at position {}, gap {}", e->near_tie->position, significant_text(e->near_tie->gap)),
           out},
          "; ");
    if (e->bitwise)
      out = joined({out, *e->bitwise ? "bit for bit as without a graph" : "not bit for bit as without a graph"});
  }
  return joined({arm.reason, out}, "; ");
}

std::vector<Diagnosis> diagnoses(const BenchCase& one) {
  std::vector<Diagnosis> out;
  for (const Arm& arm : one.arms) {
    if (!arm.error && !arm.is_wrong() && arm.status == "measured") continue;
    Diagnosis found{arm.name, verdict_text(arm), {}};
    const auto add = [&](const char* name, const std::string& text) {
      if (!text.empty()) found.facts.emplace_back(name, text);
    };
    if (arm.error) {
      add("code", joined({arm.error->code ? std::to_string(*arm.error->code) : "", arm.error->name}, " "));
      add("cause", arm.error->what);
      add("where", arm.error->where);
      add("expected", arm.error->expected);
      add("found", arm.error->found);
      add("fix", arm.error->fix);
      if (arm.reason != arm.error->what) add("reason", arm.reason);
    } else {
      add("reason", verdict_details(arm));
    }
    out.push_back(std::move(found));
  }
  return out;
}

std::string smoke_text(const SmokeGate& gate) {
  if (!gate.skipped.empty()) return "skipped: " + gate.skipped;
  if (!gate.ran) return "not run";
  const auto passed =
      std::count_if(gate.checks.begin(), gate.checks.end(), [](const SmokeCheck& c) { return c.passed; });
  return fmt::format("{}: {} of {} checks passed", gate.passed ? "passed" : "FAILED", passed, gate.checks.size());
}

}  // namespace tilewright::report
