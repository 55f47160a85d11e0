#include "opgraph/chain_file.h"

#include <algorithm>
#include <ostream>

#include "base/error.h"
#include "base/mapped_file.h"

namespace tilewright::opgraph {
namespace {

constexpr const char* kSchema = "tilewright-chains-1";
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxChains = 4096;

}  // namespace

std::vector<ChainTemplate> ChainFile::to_use() const {
  std::vector<ChainTemplate> out;
  for (const auto& [regime, chains] : regimes)
    for (const SavedChain& chain : chains)
      if (chain.use && std::find(out.begin(), out.end(), chain.shape) == out.end()) out.push_back(chain.shape);
  for (ChainTemplate& one : out)
    for (const auto& [regime, chains] : regimes)
      for (const SavedChain& chain : chains)
        if (!chain.use && chain.shape == one) one.least_elements = std::max(one.least_elements, chain.elements + 1);
  const auto begins = [](const ChainTemplate& a, const ChainTemplate& b) {
    return a.steps.size() < b.steps.size() &&
           std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), [](const ChainStep& x, const ChainStep& y) {
             return x.op == y.op && x.path == y.path && x.inputs == y.inputs && x.dtype == y.dtype &&
                    same_attributes(x.attributes, y.attributes);
           });
  };
  std::vector<ChainTemplate> longest;
  for (const ChainTemplate& one : out)
    if (std::none_of(out.begin(), out.end(), [&](const ChainTemplate& other) { return begins(one, other); }))
      longest.push_back(one);
  return longest;
}

ChainFile read_chain_file(const std::filesystem::path& path, const ops::Registry& registry) {
  const std::string where = path.string();
  const Json json = parse_json(read_text_file(path, kMaxBytes), where);
  const std::string schema = json.is_object() ? optional_or<std::string>(json, "schema", "", where) : json_kind(json);
  if (schema != kSchema)
    fail({.what = "not a file of found chains",
          .where = where,
          .expected = kSchema,
          .found = schema,
          .fix = "run `tilewright fuse` again"});
  ChainFile out;
  out.model = required<std::string>(json, "model", where);
  out.key = required<std::string>(json, "key", where);
  out.dtype = required<std::string>(json, "dtype", where);
  out.family = required<std::string>(json, "family", where);
  out.fuse = required<std::string>(json, "fuse", where);
  const Json regimes = json.value("regimes", Json::object());
  if (!regimes.is_object()) fail({.what = "regimes are no object", .where = where, .found = json_kind(regimes)});
  for (const auto& [regime, chains] : regimes.items()) {
    if (!chains.is_array() || chains.size() > kMaxChains)
      fail({.what = "the chains of a regime are no list", .where = where, .found = json_kind(chains)});
    for (const Json& one : chains) {
      if (!one.is_object()) fail({.what = "a chain is no object", .where = where, .found = json_kind(one)});
      SavedChain chain;
      chain.use = required<bool>(one, "use", where);
      chain.elements = required<std::int64_t>(one, "elements", where);
      chain.figures = one.value("figures", Json::object());
      chain.shape = chain_from_json(one.value("calls", Json()), registry, where);
      out.regimes[regime].push_back(std::move(chain));
    }
  }
  return out;
}

void write_chain_file(const std::filesystem::path& path, const ChainFile& file) {
  Json regimes = Json::object();
  for (const auto& [regime, chains] : file.regimes) {
    Json list = Json::array();
    for (const SavedChain& chain : chains)
      list.push_back({{"ops", ops_text(chain.shape)},
                      {"use", chain.use},
                      {"elements", chain.elements},
                      {"figures", chain.figures},
                      {"calls", to_json(chain.shape)}});
    regimes[regime] = std::move(list);
  }
  const Json json{{"schema", kSchema},
                  {"model", file.model},
                  {"key", file.key},
                  {"dtype", file.dtype},
                  {"family", file.family},
                  {"fuse", file.fuse},
                  {"regimes", std::move(regimes)}};
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error)
    fail({.what = "cannot make the folder for found chains",
          .where = path.parent_path().string(),
          .expected = "",
          .found = error.message(),
          .fix = "set XDG_CACHE_HOME to a folder that can be written, or name a file with --save"});
  write_file_atomically(path, [&](std::ostream& out) { out << json.dump(1) << "\n"; });
}

}  // namespace tilewright::opgraph
