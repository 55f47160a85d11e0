// One file's bytes, whatever the server and the network do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "hub/fetch/http_client.h"
#include "hub/fetch/hub_client.h"
#include "hub/fetch/partial_file.h"

namespace tilewright::hub {

// Gets what `partial` lacks from `url` until it is whole and right. `name` is for messages. `held` is called with the
// bytes held whenever they change (it may shrink). Deals with: connections that break (Range; tries count anew after
// progress), 200 to a Range (what is held already is skipped), a slice with 200, 206 of another place, 416, encodings
// that were not asked for, wrong or missing lengths, 429 and 5xx. A sum that is wrong: once more from the beginning if
// the bytes came in several pieces or are partly another run's, since one of those may be to blame; else, and the
// second time, Error naming the file, expected and found sum, and the partial file is removed. Throws Unreachable if
// connections fail until all tries are used up, Interrupted.
void download(HttpClient& http, const HubClient& hub, const std::string& url, const std::string& name,
              PartialFile& partial, const std::function<void(std::uint64_t)>& held);

// The place of a partial answer's bytes: "bytes 5-9/20", "bytes 5-9/*", "bytes */20".
struct ContentRange {
  std::optional<std::uint64_t> first, last, total;
};
// Nothing if it is no such header or makes no sense (an end before its beginning, a number over 64 bits).
std::optional<ContentRange> parse_content_range(std::string_view header);

}  // namespace tilewright::hub
