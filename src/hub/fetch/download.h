// One file's bytes, whatever the server and the network do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hub/fetch/http_client.h"
#include "hub/fetch/hub_client.h"
#include "hub/fetch/partial_file.h"

namespace tilewright::hub {

// Gets what `partial` lacks from `url` until it is whole and right. `name` is for messages. `held` is called with the
// bytes held whenever they change (it may shrink). Deals with: connections that break (Range, tries counted anew after
// progress), 200 to a Range (starts over, or skips by Content-Range if the answer has one), a slice with 200, 206 of
// another place, 416 (whole already: checked; else afresh), encodings that were not asked for, wrong or missing
// lengths, 429 and 5xx. A sum that is wrong with unproven bytes in it: once more from the beginning. A sum that is
// wrong otherwise: Error naming the file, expected and found sum; partial file removed.
void download(HttpClient& http, const HubClient& hub, const std::string& url, const std::string& name,
              PartialFile& partial, const std::function<void(std::uint64_t)>& held);

}  // namespace tilewright::hub
