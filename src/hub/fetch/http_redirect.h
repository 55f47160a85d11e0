// Where redirects may lead.
#pragma once

#include <string>
#include <vector>

#include "hub/fetch/http_client.h"

namespace tilewright::hub {

// Of an answer that sends the client elsewhere; else nothing.
const std::string* location_of(const HttpAnswer& answer);

// The address after `way` (all so far, at least one, http or https) by a Location. Throws Error, without queries in it,
// for other schemes, a way from https to http, a circle, and more than 10 redirects.
std::string next_hop(const std::vector<std::string>& way, const std::string& location);

}  // namespace tilewright::hub
