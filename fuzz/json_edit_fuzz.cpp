// Any text as a JSON file with a member to set or to remove: an Error, or a text that means what editing its meaning
// gives, in which nothing else changed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hub/patch/auto_map.h"
#include "hub/patch/json_edit.h"

namespace {

using tilewright::Json;

constexpr std::string_view kKey = "auto_map";

void require(bool holds) {
  if (!holds) std::abort();
}

std::optional<Json> parsed(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return std::nullopt;  // to nlohmann, the end
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

// `shorter` is `longer` without one stretch.
bool lacks_one_stretch(std::string_view longer, std::string_view shorter) {
  const auto same = [](auto a, auto a_end, auto b, auto b_end) { return std::mismatch(a, a_end, b, b_end).first - a; };
  const auto before = same(shorter.begin(), shorter.end(), longer.begin(), longer.end());
  const auto after = same(shorter.rbegin(), shorter.rend(), longer.rbegin(), longer.rend());
  return shorter.size() <= longer.size() && std::size_t(before + after) >= shorter.size();
}

void check(std::string_view text) {
  const auto edit = [](std::string_view of, const std::optional<Json>& value) {
    return tilewright::hub::with_member(of, kKey, value, "fuzz");
  };
  const std::optional<Json> meaning = parsed(text);
  const std::string removed = edit(text, std::nullopt);
  require(lacks_one_stretch(text, removed));
  require(!tilewright::hub::member_of(removed, kKey, "fuzz"));
  require(edit(removed, std::nullopt) == removed);
  std::optional<Json> old;
  try {
    old = tilewright::hub::member_of(text, kKey, "fuzz");
  } catch (const tilewright::Error&) {  // a value that no number holds
    return;
  }
  if (!old) require(removed == text);
  if (old) require(edit(text, old) == text);
  for (const Json& value :
       {Json{{"AutoModel", "m.X"}, {"AutoTokenizer", {"t.X", nullptr}}}, Json("text"), Json::object()}) {
    const std::string set = edit(text, value);
    require(tilewright::hub::member_of(set, kKey, "fuzz") == value);
    require(edit(set, value) == set);
    require(edit(set, std::nullopt) == removed || !old);
    require(old || lacks_one_stretch(set, text));
    if (!meaning) continue;
    Json meant = *meaning;
    meant[std::string(kKey)] = value;
    require(parsed(set) == meant);
  }
  if (meaning) {
    Json meant = *meaning;
    meant.erase(std::string(kKey));
    require(parsed(removed) == meant);
  }
  tilewright::hub::edit_auto_map(text, {}, "fuzz");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> exact(data, data + size);  // its end is where the sanitizer looks
  const std::string_view text(exact.data(), exact.size());
  try {
    check(text);
  } catch (const tilewright::Error&) {
    // What a strict reader takes for an object is refused only for a key that comes twice, or a strange auto_map.
    const std::optional<Json> meaning = parsed(text);
    if (meaning && meaning->is_object()) require(meaning->contains(std::string(kKey)));
  }
  return 0;
}
