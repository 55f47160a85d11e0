#include "hub/fetch/http_redirect.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "hub/fetch/url.h"

namespace tilewright::hub {
namespace {

constexpr std::size_t kMostRedirects = 10;

std::string shown_way(const std::vector<std::string>& urls) {
  std::string way;
  for (const std::string& url : urls) way += (way.empty() ? "" : " → ") + shown_url(url).substr(0, 200);
  return way;
}

}  // namespace

const std::string* location_of(const HttpAnswer& answer) {
  constexpr int kRedirects[] = {301, 302, 303, 307, 308};
  if (std::find(std::begin(kRedirects), std::end(kRedirects), answer.status) == std::end(kRedirects)) return nullptr;
  return answer.headers.find("location");
}

std::string next_hop(const std::vector<std::string>& way, const std::string& location) {
  const std::string& from = way.back();
  const auto next = resolve_location(from, location);
  const std::string target = next ? *next : shown_url(location).substr(0, 200);
  const auto refuse = [&](const char* what, const std::string& found) {
    fail({.what = what,
          .where = shown_url(way.front()),
          .found = found,
          .fix = "check HF_ENDPOINT and the proxy; https://huggingface.co does not do this"});
  };
  if (!next) refuse("a redirect leads to what is no http or https address", "\"" + target + "\"");
  if (origin_of(from)->scheme == "https" && origin_of(*next)->scheme == "http")
    refuse("a redirect leads from https to http, where anyone can change what comes", shown_url(*next).substr(0, 200));
  auto longer = way;
  longer.push_back(*next);
  if (std::find(way.begin(), way.end(), *next) != way.end())
    refuse("redirects lead round in a circle", shown_way(longer));
  if (way.size() > kMostRedirects)
    refuse("there are too many redirects", fmt::format("more than {}: {}", kMostRedirects, shown_way(longer)));
  return *next;
}

}  // namespace tilewright::hub
