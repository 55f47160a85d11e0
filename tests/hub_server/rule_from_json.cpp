#include "base/error.h"
#include "base/json.h"
#include "hub_server/hub_server.h"

namespace tilewright::test {

Rule rule_from_json(const std::string& text) {
  const Json json = parse_json(text, "rule");
  Rule rule;
  for (const auto& [key, value] : json.items()) {
    if (key == "method")
      rule.method = value;
    else if (key == "target")
      rule.target = value;
    else if (key == "skip")
      rule.skip = value;
    else if (key == "times")
      rule.times = value;
    else if (key == "status")
      rule.status = value.get<int>();
    else if (key == "headers")
      for (const auto& [name, content] : value.items()) rule.headers.emplace_back(name, content);
    else if (key == "body")
      rule.body = value.get<std::string>();
    else if (key == "drop_after")
      rule.drop_after = value.get<std::uint64_t>();
    else if (key == "close_early")
      rule.close_early = value;
    else if (key == "ignore_range")
      rule.ignore_range = value;
    else if (key == "slice_with_200")
      rule.slice_with_200 = value;
    else if (key == "shift_range")
      rule.shift_range = value.get<std::uint64_t>();
    else if (key == "gzip")
      rule.gzip = value;
    else if (key == "no_length")
      rule.no_length = value;
    else if (key == "chunked")
      rule.chunked = value;
    else if (key == "claim_length")
      rule.claim_length = value.get<std::uint64_t>();
    else if (key == "flip_byte")
      rule.flip_byte = value.get<std::uint64_t>();
    else if (key == "drip_ms")
      rule.drip_ms = value;
    else if (key == "stall_ms")
      rule.stall_ms = value;
    else if (key == "redirect")
      rule.redirect = value;
    else
      fail({.what = "unknown key of a rule",
            .where = "rule",
            .expected = "the members of Rule",
            .found = key,
            .fix = {}});
  }
  return rule;
}

}  // namespace tilewright::test
