// "Did you mean …": the candidate that differs least from what a user typed.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tilewright {

// Insertions, deletions, replacements and swaps of neighbours, letter case not counted.
int edit_distance(std::string_view a, std::string_view b);

// The nearest candidate, or empty if all differ by more than `share` of the longer name's length.
std::string nearest(std::string_view name, std::span<const std::string> candidates, double share = 0.4);

}  // namespace tilewright
