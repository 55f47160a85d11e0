#include "measure/bench_result.h"

#include <algorithm>

namespace tilewright::measure {
namespace {

bool any(const BenchResult& result, ArmStatus status) {
  for (const CaseResult& of_case : result.cases)
    for (const ArmResult& arm : of_case.arms)
      if (arm.status == status) return true;
  return false;
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal:
      return "equal";
    case Verdict::near_tie:
      return "near-tie";
    case Verdict::wrong:
      return "wrong";
  }
  return "?";
}

const char* arm_status_name(ArmStatus status) {
  switch (status) {
    case ArmStatus::measured:
      return "measured";
    case ArmStatus::wrong:
      return "wrong";
    case ArmStatus::failed:
      return "failed";
    case ArmStatus::refused:
      return "refused";
    case ArmStatus::skipped:
      return "skipped";
  }
  return "?";
}

bool BenchResult::any_wrong() const { return any(*this, ArmStatus::wrong); }
bool BenchResult::any_failed() const { return any(*this, ArmStatus::failed); }

}  // namespace tilewright::measure
