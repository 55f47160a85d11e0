// Two reports side by side: by their own ratios, which a machine's speed cancels out of; by absolute numbers only where
// both come from the same machine.
#pragma once

#include <string>
#include <vector>

#include "report/bench/bench_report.h"
#include "report/bench/bench_tables.h"

namespace tilewright::report {

struct ArmPair {
  std::string name;
  const Arm* a = nullptr;  // null: not in this report
  const Arm* b = nullptr;
  Number change;         // B's ratio / A's ratio, where both may be shown against the same arm
  bool claimed = false;  // the two intervals do not touch
};

struct CasePair {
  const BenchCase* a = nullptr;
  const BenchCase* b = nullptr;
  std::vector<ArmPair> arms;
};

struct Comparison {
  std::string why_not;                      // why nothing is put side by side; empty: it is
  std::string why_no_absolute;              // why absolute numbers are not; empty: they are
  std::vector<std::string> remarks;         // what else differs: model, settings, program
  std::vector<CasePair> cases;              // with the same label
  std::vector<std::string> only_a, only_b;  // labels of the others
};

// Points into both reports.
Comparison compare(const BenchReport& a, const BenchReport& b);

struct NamedReport {
  std::string name;  // of its file
  const BenchReport& report;
};

std::string comparison_tables(const NamedReport& a, const NamedReport& b, const TableOptions& options = {});
std::string comparison_page(const NamedReport& a, const NamedReport& b);

}  // namespace tilewright::report
