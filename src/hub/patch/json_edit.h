// Edits of one member of a JSON file that leave every other byte as it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace tilewright::hub {

// The text with the member `key` of its top-level object set to `value`, or without it (no value). All bytes outside
// that member (and the comma it needs or leaves) stay: spaces, order, escapes, numbers as they are written, line ends,
// a byte order mark. The value is written with the indent of its surroundings. The same text if nothing changes. Throws
// Error with line and column for what is no JSON object, and for a key that comes twice.
std::string with_member(std::string_view text, std::string_view key, const std::optional<Json>& value,
                        const std::string& where);
// The member's value, or nothing; the same errors.
std::optional<Json> member_of(std::string_view text, std::string_view key, const std::string& where);

}  // namespace tilewright::hub
