// URLs as the hub's protocol needs them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilewright::hub {

// Scheme, host and port (the scheme's own if none is given) in lower case: what a token may be sent to.
struct Origin {
  std::string scheme, host;
  int port = 0;
  bool operator==(const Origin&) const = default;
};
// Nothing if it is no http or https URL.
std::optional<Origin> origin_of(const std::string& url);

// Where a redirect leads: `location` may be absolute, "//host/…", "/path" or relative. Its query is kept byte for byte;
// `base`'s is not added. Nothing if it is no http or https URL.
std::optional<std::string> resolve_location(const std::string& base, const std::string& location);

// Percent-encodes all but unreserved characters; `keep_slash`: '/' stays (file names), else it becomes %2F (revisions).
std::string percent_encoded(std::string_view text, bool keep_slash);

// The URL without its query and user: what messages may show. Signed addresses carry secrets in the query.
std::string shown_url(const std::string& url);

}  // namespace tilewright::hub
