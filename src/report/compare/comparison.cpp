#include "report/compare/comparison.h"

#include <algorithm>
#include <map>

#include "report/bench/report_texts.h"

namespace tilewright::report {
namespace {

std::string named(const std::string& text) { return text.empty() ? "unknown" : shortened(text, 40); }

std::string differs(const char* what, const std::string& a, const std::string& b) {
  return std::string(what) + " is " + named(a) + " in A, " + named(b) + " in B";
}

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : "; ") + part;
  return out;
}

std::string absolute_refusal(const Fingerprint& a, const Fingerprint& b) {
  std::vector<std::string> why;
  const auto check = [&](const char* what, const std::string& x, const std::string& y) {
    if (x != y || x.empty()) why.push_back(differs(what, x, y));
  };
  check("the processor", a.cpu, b.cpu);
  check("the instruction set", a.isa, b.isa);
  check("the number of threads", a.threads ? count_text(a.threads) : "", b.threads ? count_text(b.threads) : "");
  check("the system", a.system, b.system);
  return join(why);
}

std::vector<std::string> remarks(const BenchReport& a, const BenchReport& b) {
  std::vector<std::string> out;
  const auto check = [&](const char* what, const std::string& x, const std::string& y) {
    if (x != y) out.push_back(differs(what, x, y));
  };
  check("the model", a.model.name, b.model.name);
  check("the dtype", a.model.dtype, b.model.dtype);
  check("the number of layers", count_text(a.model.layers), count_text(b.model.layers));
  check("where the weights are from", a.model.weights, b.model.weights);
  check("the program's version", a.tool_version, b.tool_version);
  check("the program's commit", a.tool_commit, b.tool_commit);
  std::map<std::string, std::pair<std::string, std::string>> settings;
  for (const auto& [name, text] : a.settings) settings[name].first = text;
  for (const auto& [name, text] : b.settings) settings[name].second = text;
  for (const auto& [name, texts] : settings)
    if (texts.first != texts.second) out.push_back(differs(("setting " + name).c_str(), texts.first, texts.second));
  for (const auto& [name, report] : {std::pair{"A", &a}, {"B", &b}})
    if (!report->incomplete.empty()) out.push_back(std::string(name) + " is incomplete: " + report->incomplete);
  return out;
}

ArmPair arm_pair(const std::string& name, const Arm* a, const Arm* b) {
  ArmPair pair{.name = name, .a = a, .b = b};
  const Ratio* x = a ? a->shown_ratio() : nullptr;
  const Ratio* y = b ? b->shown_ratio() : nullptr;
  if (!x || !y || x->against != y->against || !(x->value > 0)) return pair;
  pair.change = y->value / x->value;
  pair.claimed = x->low && x->high && y->low && y->high && a->seconds.size() >= kLeastRounds &&
                 b->seconds.size() >= kLeastRounds && (*x->high < *y->low || *y->high < *x->low);
  return pair;
}

template <typename T>
const T* find_named(const std::vector<T>& all, const std::string& name, std::string T::*field) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const T& one) { return one.*field == name; });
  return found == all.end() ? nullptr : &*found;
}

CasePair case_pair(const BenchCase& a, const BenchCase& b) {
  CasePair pair{&a, &b, {}};
  for (const Arm& arm : a.arms) pair.arms.push_back(arm_pair(arm.name, &arm, find_named(b.arms, arm.name, &Arm::name)));
  for (const Arm& arm : b.arms)
    if (!find_named(a.arms, arm.name, &Arm::name)) pair.arms.push_back(arm_pair(arm.name, nullptr, &arm));
  return pair;
}

}  // namespace

Comparison compare(const BenchReport& a, const BenchReport& b) {
  Comparison out;
  if (!a.has_bench || !b.has_bench)
    out.why_not = std::string(a.has_bench ? "B" : "A") + " measured nothing";
  else if (a.regime != b.regime)
    out.why_not = differs("the regime", a.regime, b.regime) + ", and numbers of two regimes are never put side by side";
  if (!out.why_not.empty()) return out;
  out.why_no_absolute = absolute_refusal(a.fingerprint, b.fingerprint);
  out.remarks = remarks(a, b);
  for (const BenchCase& one : a.cases)
    if (const BenchCase* other = find_named(b.cases, one.label, &BenchCase::label))
      out.cases.push_back(case_pair(one, *other));
    else
      out.only_a.push_back(one.label);
  for (const BenchCase& one : b.cases)
    if (!find_named(a.cases, one.label, &BenchCase::label)) out.only_b.push_back(one.label);
  if (out.cases.empty()) out.why_not = "no case of one has the label of a case of the other";
  return out;
}

}  // namespace tilewright::report
