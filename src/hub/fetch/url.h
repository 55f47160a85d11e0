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
// Nothing if it is no http or https URL, or one that two readers could take for different hosts (a backslash, a space
// or control characters in it).
std::optional<Origin> origin_of(std::string_view url);

// Where a redirect leads: `location` may be absolute, "//host/…", "/path", "?query" or relative. Its query is kept byte
// for byte (bytes that no request line may hold are percent-encoded: spaces, those above ASCII); `base`'s is not added.
// Its fragment goes, and so does a "user:password@". Nothing if it is no http or https URL.
std::optional<std::string> resolve_location(const std::string& base, std::string_view location);

// Percent-encodes all but unreserved characters; `keep_slash`: '/' stays (file names), else it becomes %2F (revisions).
std::string percent_encoded(std::string_view text, bool keep_slash);
// The other way round; a '%' that no two hex digits follow stays.
std::string percent_decoded(std::string_view text);

// "user:password" of a URL as it is written there, and the URL without it.
struct UrlLogin {
  std::string login, url;
};
UrlLogin without_login(std::string_view url);

// The path ("/" at least), without query.
std::string path_of(std::string_view url);

// The URL without its query and user: what messages may show. Signed addresses carry secrets in the query.
std::string shown_url(std::string_view url);

}  // namespace tilewright::hub
