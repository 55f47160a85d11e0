// From the times of rounds to what is printed: medians, rates, ratios, shares of the limit, differences.
#pragma once

#include <vector>

#include "measure/bench_result.h"

namespace tilewright::measure {

// Fills median, best, spread (quartiles) and rates of an arm from its `seconds`; `tokens` an iteration. `limits`:
// seconds that each round's iteration would have needed at the machine's limit then, or empty.
void summarize(ArmResult& arm, std::int64_t tokens, const std::vector<double>& limits);
// Speed of every measured arm against eager, or against the first one if eager is not among them: that arm's own is
// absent. Arms that are not measured have none.
void compare_arms(std::vector<ArmResult>& arms);
// Of each pair of measured arms that have a split, in order.
std::vector<Difference> differences(const std::vector<ArmResult>& arms);

}  // namespace tilewright::measure
