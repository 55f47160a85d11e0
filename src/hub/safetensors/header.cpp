#include "hub/safetensors/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <unordered_set>

#include "base/error.h"
#include "hub/safetensors/json_cursor.h"

namespace tilewright::hub {
namespace {

struct DtypeRow {
  std::string_view name;
  unsigned bits;
};
constexpr DtypeRow kDtypes[] = {{"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
                                {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
                                {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
                                {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
                                {"I64", 64},        {"U64", 64}};
constexpr const char* kCopyAgain = "download or copy the file again; if it stays so, its writer is at fault";

bool is_utf8(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = p + text.size();
  while (p < end) {
    if (end - p >= 8) {  // eight ASCII bytes at once
      std::uint64_t word;
      std::memcpy(&word, p, 8);
      if (!(word & 0x8080808080808080ull)) {
        p += 8;
        continue;
      }
    }
    const unsigned lead = *p++;
    if (lead < 0x80) continue;
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || end - p < more) return false;
    const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;   // neither overlong …
    const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;  // … nor a surrogate nor past U+10FFFF
    if (*p < low || *p > high) return false;
    for (int i = 1; i < more; ++i)
      if ((p[i] & 0xc0) != 0x80) return false;
    p += more;
  }
  return true;
}

void read_metadata(JsonCursor& json, std::map<std::string, std::string>& out) {
  if (json.accept_null()) return;
  json.expect('{');
  if (json.accept('}')) return;
  do {
    std::string key = json.string();
    json.expect(':');
    if (!out.try_emplace(key, json.string()).second)
      json.mismatch("metadata \"" + key.substr(0, 80) + "\" occurs twice");
  } while (json.accept(','));
  json.expect('}');
}

void read_shape(JsonCursor& json, std::vector<std::uint64_t>& out) {
  json.expect('[');
  if (json.accept(']')) return;
  do out.push_back(json.unsigned_number());
  while (json.accept(','));
  json.expect(']');
}

void read_entry(JsonCursor& json, SafetensorsEntry& out) {
  bool dtype = false, shape = false, offsets = false;
  const auto once = [&](bool& seen, const char* field) {
    if (seen) json.mismatch(fmt::format("\"{}\" occurs twice", field));
    seen = true;
  };
  json.expect('{');
  if (!json.accept('}')) {
    do {
      const std::string field = json.string();
      json.expect(':');
      if (field == "dtype") {
        once(dtype, "dtype");
        out.dtype_name = json.string();
        if (safetensors_dtype_bits(out.dtype_name) == 0)
          json.mismatch("unknown dtype \"" + out.dtype_name.substr(0, 40) + "\"");
      } else if (field == "shape") {
        once(shape, "shape");
        read_shape(json, out.shape);
      } else if (field == "data_offsets") {
        once(offsets, "data_offsets");
        json.expect('[');
        out.begin = json.unsigned_number();
        json.expect(',');
        out.end = json.unsigned_number();
        json.expect(']');
      } else {
        json.skip_value();  // the reference ignores fields it does not know
      }
    } while (json.accept(','));
    json.expect('}');
  }
  for (const auto& [seen, field] : {std::pair{dtype, "dtype"}, {shape, "shape"}, {offsets, "data_offsets"}})
    if (!seen) json.mismatch(fmt::format("\"{}\" is missing", field));
}

SafetensorsHeader parse_header(std::string_view text, const std::string& where) {
  SafetensorsHeader out;
  std::string name;
  JsonCursor json(text);
  try {
    bool metadata = false;
    json.expect('{');
    if (!json.accept('}')) {
      do {
        name.clear();
        std::string key = json.string();
        json.expect(':');
        if (key == "__metadata__") {
          if (metadata) json.mismatch("\"__metadata__\" occurs twice");
          metadata = true;
          read_metadata(json, out.metadata);
        } else {
          name = key;
          out.entries.push_back({.name = std::move(key)});
          read_entry(json, out.entries.back());
        }
      } while (json.accept(','));
      name.clear();
      json.expect('}');
    }
    json.expect_end();
  } catch (const JsonCursor::Mismatch& e) {
    fail({.what = "InvalidHeaderDeserialization: the header is not what the format wants: " + e.reason +
                  (name.empty() ? "" : " in tensor \"" + name.substr(0, 200) + "\""),
          .where = where,
          .expected = "{\"name\": {\"dtype\": \"F32\", \"shape\": [2, 3], \"data_offsets\": [0, 24]}, …}",
          .found = fmt::format("\"{}\" at byte {} of the header", text.substr(std::min(e.at, text.size()), 20), e.at),
          .fix = kCopyAgain});
  }
  return out;
}

void refuse_repeated_names(const SafetensorsHeader& header, const std::string& where) {
  std::unordered_set<std::string_view> names;
  names.reserve(header.entries.size());
  for (const SafetensorsEntry& entry : header.entries)
    if (!names.insert(entry.name).second)
      fail({.what = "InvalidHeaderDeserialization: tensor \"" + entry.name + "\" occurs twice in the header",
            .where = where,
            .expected = "each name once",
            .found = "",
            .fix = kCopyAgain});
}

// Offsets still count from the start of the data here.
void check_entry(const SafetensorsEntry& entry, std::uint64_t previous_end, const std::string& where) {
  const auto refuse = [&](const char* what, std::string expected, std::string found) {
    fail({.what = what,
          .where = where + ", tensor \"" + entry.name + "\"",
          .expected = std::move(expected),
          .found = std::move(found),
          .fix = kCopyAgain});
  };
  const std::string found = fmt::format("data_offsets [{}, {}]", entry.begin, entry.end);
  if (entry.begin != previous_end)
    refuse(entry.begin < previous_end ? "InvalidOffset: its bytes overlap those of the tensor before it"
                                      : "InvalidOffset: there is a hole before its bytes",
           fmt::format("a begin of {}", previous_end), found);
  if (entry.end < entry.begin) refuse("InvalidOffset: its bytes end before they begin", "begin ≤ end", found);
  std::uint64_t bits = 1;
  bool fits = true;
  for (const std::uint64_t dim : entry.shape) fits = fits && !__builtin_mul_overflow(bits, dim, &bits);
  fits = fits && !__builtin_mul_overflow(bits, std::uint64_t{safetensors_dtype_bits(entry.dtype_name)}, &bits);
  const std::string described = fmt::format("{} [{}]", entry.dtype_name, fmt::join(entry.shape, ", "));
  if (!fits) refuse("ValidationOverflow: its size does not fit 64 bits", "", described);
  if (bits % 8 != 0) refuse("MisalignedSlice: its size is not a whole number of bytes", "", described);
  if (entry.end - entry.begin != bits / 8)
    refuse("TensorInvalidInfo: the length of its bytes does not fit its dtype and shape",
           fmt::format("{} bytes for {}", bits / 8, described), found);
}

}  // namespace

unsigned safetensors_dtype_bits(std::string_view dtype_name) {
  for (const DtypeRow& row : kDtypes)
    if (row.name == dtype_name) return row.bits;
  return 0;
}

SafetensorsHeader read_safetensors_header(std::span<const std::byte> file, const std::string& where) {
  if (file.size() < 8)
    fail({.what = "HeaderTooSmall: the file is too short to be a safetensors file",
          .where = where,
          .expected = "at least 8 bytes",
          .found = fmt::format("{} bytes", file.size()),
          .fix = kCopyAgain});
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | std::to_integer<std::uint64_t>(file[static_cast<std::size_t>(i)]);
  if (length > kMaxSafetensorsHeader)
    fail({.what = "HeaderTooLarge: the header's length is beyond the format's limit",
          .where = where,
          .expected = fmt::format("at most {} bytes", kMaxSafetensorsHeader),
          .found = fmt::format("{}", length),
          .fix = "check that this is a safetensors file, else download it again"});
#ifndef TILEWRIGHT_PLANTED_FAULT  // fuzz/safetensors.cmake shows that the fuzz target notices when this check is gone
  if (length > file.size() - 8)
    fail({.what = "InvalidHeaderLength: the file ends inside its header",
          .where = where,
          .expected = fmt::format("at least {} bytes", length + 8),
          .found = fmt::format("{} bytes", file.size()),
          .fix = kCopyAgain});
#endif
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + 8, length);
  if (!is_utf8(text))
    fail({.what = "InvalidHeader: the header is not UTF-8",
          .where = where,
          .expected = "JSON in UTF-8",
          .found = "",
          .fix = kCopyAgain});

  SafetensorsHeader out = parse_header(text, where);
  refuse_repeated_names(out, where);
  std::sort(out.entries.begin(), out.entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t end = 0;
  for (const SafetensorsEntry& entry : out.entries) {
    check_entry(entry, end, where);
    end = entry.end;
  }
  const std::uint64_t data = file.size() - 8 - length;
  if (end != data)
    fail({.what = end > data ? "MetadataIncompleteBuffer: the file ends before its last tensor does"
                             : "MetadataIncompleteBuffer: the file goes on after its last tensor",
          .where = where,
          .expected = fmt::format("{} bytes", end + 8 + length),
          .found = fmt::format("{} bytes", file.size()),
          .fix = kCopyAgain});
  for (SafetensorsEntry& entry : out.entries) {
    entry.begin += 8 + length;
    entry.end += 8 + length;
  }
  return out;
}

}  // namespace tilewright::hub
