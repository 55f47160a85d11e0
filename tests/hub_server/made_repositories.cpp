#include "hub_server/made_repositories.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/mapped_file.h"

namespace tilewright::test {
namespace {

[[noreturn]] void refuse_made(const std::string& text, const std::string& expected) {
  fail({.what = "cannot make this repository", .where = "", .expected = expected, .found = text, .fix = {}});
}

std::uint64_t number_in(const std::string& text, std::size_t& used) {
  std::size_t length = 0;
  try {
    const std::uint64_t value = std::stoull(text, &length);
    used = length;
    return value;
  } catch (const std::exception&) {
    return used = 0;
  }
}

}  // namespace

HubRepository made_repository(const std::string& text) {
  const std::string expected = "ORG/NAME:COUNTxSIZE, SIZE as 256MiB";
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) refuse_made(text, expected);
  std::size_t used = 0, used_of_size = 0;
  const std::uint64_t count = number_in(text.substr(colon + 1), used);
  const std::string rest = text.substr(std::min(text.size(), colon + 2 + used));
  const std::uint64_t size = number_in(rest, used_of_size);
  static const std::map<std::string, int> shifts = {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  const auto shift = shifts.find(rest.substr(used_of_size));
  if (count == 0 || size == 0 || shift == shifts.end()) refuse_made(text, expected);
  HubRepository repository{.id = text.substr(0, colon), .files = {{.path = "config.json", .bytes = "{}\n"}}};
  for (std::uint64_t i = 1; i <= count; ++i)
    repository.files.push_back({.path = fmt::format("model-{:05}-of-{:05}.safetensors", i, count),
                                .bytes = {},
                                .lfs = true,
                                .made_size = size << shift->second});
  return repository;
}

HubRepository made_tree(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::size_t used = 0;
  const std::uint64_t count = colon == std::string::npos ? 0 : number_in(text.substr(colon + 1), used);
  if (count == 0) refuse_made(text, "ORG/NAME:COUNT");
  HubRepository repository{.id = text.substr(0, colon), .files = {}};
  for (std::uint64_t i = 0; i < count; ++i)
    repository.files.push_back(
        {.path = fmt::format("data/part-{:03}/entry-{:06}.{}", i / 400, i, i % 4 ? "bin" : "json"),
         .bytes = fmt::format("{}\n", i)});
  return repository;
}

std::vector<HubRepository> repositories_in(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::vector<HubRepository> repositories;
  for (const auto& organisation : fs::directory_iterator(folder)) {
    if (!organisation.is_directory()) continue;
    for (const auto& name : fs::directory_iterator(organisation)) {
      if (!name.is_directory()) continue;
      HubRepository repository;
      repository.id = organisation.path().filename().string() + "/" + name.path().filename().string();
      for (const auto& entry : fs::recursive_directory_iterator(name)) {
        if (!entry.is_regular_file()) continue;
        HubFile file;
        file.path = entry.path().lexically_relative(name.path()).generic_string();
        static const std::set<std::string> weights = {".safetensors", ".gguf", ".bin", ".pt"};
        file.lfs = entry.file_size() >= (1 << 20) || weights.count(entry.path().extension().string()) > 0;
        if (file.lfs && entry.file_size() > 0)
          file.from_file = entry.path().string();
        else
          file.bytes = read_text_file(entry.path());
        repository.files.push_back(std::move(file));
      }
      std::sort(repository.files.begin(), repository.files.end(),
                [](const HubFile& a, const HubFile& b) { return a.path < b.path; });
      repositories.push_back(std::move(repository));
    }
  }
  return repositories;
}

}  // namespace tilewright::test
