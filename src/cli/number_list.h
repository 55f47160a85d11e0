// Numbers and lists of them on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::cli {

// What is wrong with a number from 0 to 2^64 - 1, or nothing. CLI11 would take -1 for 2^64 - 1, and a number beyond 64
// bits for the largest.
std::string whole_number_complaint(const std::string& text);

// What is wrong with a list, or nothing: at least one whole number from 1 to 2^31, separated by commas.
std::string number_list_complaint(const std::string& text);
std::vector<std::int64_t> number_list(const std::string& text);  // of a list without complaint
// "a, b" as words without spaces around them; empty words stay.
std::vector<std::string> word_list(const std::string& text);

}  // namespace tilewright::cli
