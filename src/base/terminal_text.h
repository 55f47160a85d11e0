// UTF-8 text as a terminal shows it: how many cells it takes, and without what would steer the terminal.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

// The number of terminal cells that UTF-8 text takes: two for the wide characters of East Asia and for pictures, none
// for combining marks. No escape sequences.
int display_width(const std::string& text);

// The longest beginning of whole characters that takes at most `width` cells.
std::string cut_to_width(const std::string& text, int width);

// A text on one line that cannot steer a terminal: control characters (also C1, and marks that turn the writing
// direction) become spaces, what is not UTF-8 becomes U+FFFD.
std::string one_line(std::string_view text);

// one_line(text) in at most `width` cells, with "…" in place of its middle where that is needed: names of shards differ
// at their ends.
std::string shortened_in_the_middle(std::string_view text, int width);

}  // namespace tilewright
