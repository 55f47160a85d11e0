// The words that terminal, page and comparison have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/bench/bench_report.h"

namespace tilewright::report {

inline constexpr std::size_t kLeastRounds = 6;  // under it there is no interval and no claim

using Facts = std::vector<std::pair<std::string, std::string>>;  // name, text

Facts header_facts(const BenchReport& report);  // model, regime, machine, limits, settings, run

std::string model_text(const ModelFacts& model);
std::string machine_text(const Fingerprint& machine);
std::string limits_text(const MeasuredLimits& limits);
std::string command_text(const std::vector<std::string>& command);  // words quoted for a shell where they need it

// "128 tokens, padded to 256 (50.0 % of the work is padding); limit 12.1 ms, 10580 tok/s (bf16 peak)"
std::string case_text(const BenchCase& one);

// Whether a ratio may be claimed: the report says so, six rounds at least, an interval that excludes 1.
bool is_claimed(const Arm& arm);
// "1.234 [1.201, 1.267]", followed by "no claim" where there is none; kNothing for an arm that may show no ratio. The
// blank within the brackets is a no-break one.
std::string ratio_cell(const Arm& arm);
// Whether a difference is between arms that compute the same: one with a wrong arm says nothing.
bool is_shown(const Difference& difference, const BenchCase& one);
// What the ratios of a case are against: "eager".
std::string ratio_base(const BenchCase& one);

// "equal", "near-tie", "wrong", "failed", "refused", "skipped", "reference".
std::string verdict_text(const Arm& arm);
// What a reader should know of an arm beyond its verdict: why it has no numbers, where tokens parted; empty if nothing.
std::string verdict_details(const Arm& arm);
// The arms of a case that failed, were refused or are wrong: name, and facts (what, code, where, expected, found, fix).
struct Diagnosis {
  std::string arm, verdict;
  Facts facts;
};
std::vector<Diagnosis> diagnoses(const BenchCase& one);

// "passed: 3 of 3 checks passed", "skipped: …".
std::string smoke_text(const SmokeGate& gate);

}  // namespace tilewright::report
