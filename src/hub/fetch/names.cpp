#include "hub/fetch/names.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

bool name_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool name_digit(char c) { return c >= '0' && c <= '9'; }

bool only_lower_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return name_digit(c) || (c >= 'a' && c <= 'f'); });
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 32 || c == 127; });
}

// Printable, whatever is in it, and not longer than a line.
std::string shown_name(std::string_view text) {
  if (text.size() > 120) text = text.substr(0, 120);
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Calls `check` with each part between slashes; the first answer that is not empty is the answer.
template <typename Check>
std::string first_part_reason(std::string_view path, const Check& check) {
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (std::string reason = check(path.substr(at, end - at)); !reason.empty()) return reason;
    if (end == path.size()) return {};
    at = end + 1;
  }
}

std::string repository_reason(std::string_view id) {
  if (id.empty()) return "is empty";
  if (id.size() > 96) return "is longer than 96 characters";
  if (std::count(id.begin(), id.end(), '/') > 1) return "has more than one '/'";
  for (const char c : id)
    if (!name_letter(c) && !name_digit(c) && c != '_' && c != '.' && c != '-' && c != '/')
      return "has a character other than letters, digits, '_', '.' and '-'";
  if (id.find("--") != id.npos || id.find("..") != id.npos) return "has \"--\" or \"..\" in it";
  if (id.ends_with(".git")) return "ends in \".git\"";
  return first_part_reason(id, [](std::string_view part) -> std::string {
    if (part.empty()) return "has an empty part";
    if (part.front() == '.' || part.front() == '-' || part.back() == '.' || part.back() == '-')
      return "has a part that begins or ends with '.' or '-'";
    return {};
  });
}

// What git refuses as the name of a branch or tag, too.
std::string revision_reason(std::string_view revision) {
  if (revision.empty()) return "is empty";
  if (has_control_character(revision)) return "has control characters";
  if (revision.find_first_of(" ~^:?*[\\") != revision.npos) return "has one of the characters ' ~^:?*[\\'";
  if (revision.find("..") != revision.npos || revision.find("@{") != revision.npos) return "has \"..\" or \"@{\" in it";
  if (revision.back() == '.') return "ends in '.'";
  if (!is_valid_utf8(revision)) return "is not UTF-8";
  if (revision.size() > 1000) return "is longer than 1000 bytes";
  return first_part_reason(revision, [](std::string_view part) -> std::string {
    if (part.empty()) return "has an empty part";
    if (part.front() == '.') return "has a part that begins with '.'";
    if (part.ends_with(".lock")) return "has a part that ends in \".lock\"";
    if (part.size() > 240) return "has a part of more than 240 bytes";
    return {};
  });
}

}  // namespace

bool is_repository_id(std::string_view id) { return repository_reason(id).empty(); }

void require_repository_id(const std::string& id) {
  if (const std::string reason = repository_reason(id); !reason.empty())
    fail({.what = "not the id of a repository",
          .where = shown_name(id),
          .expected = "\"organisation/name\" or \"name\" as the hub shows it",
          .found = "an id that " + reason,
          .fix = "check the spelling"});
}

void require_revision(const std::string& revision) {
  if (const std::string reason = revision_reason(revision); !reason.empty())
    fail({.what = "not a revision",
          .where = shown_name(revision),
          .expected = "a branch, a tag, \"refs/pr/1\" or a commit",
          .found = "a name that " + reason,
          .fix = "check the spelling"});
}

bool is_commit(std::string_view revision) {
  return revision.size() == 40 && std::all_of(revision.begin(), revision.end(), [](char c) {
           return name_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
         });
}

std::string usual_revision(std::string revision) {
  if (is_commit(revision))
    for (char& c : revision)
      if (c >= 'A' && c <= 'F') c = static_cast<char>(c + 32);
  return revision;
}

std::string unsafe_name_reason(std::string_view path) {
  if (path.empty()) return "is empty";
  if (path.front() == '/') return "is absolute";
  if (path.find('\\') != path.npos) return "has a backslash";
  if (has_control_character(path)) return "has control characters";
  if (!is_valid_utf8(path)) return "is not UTF-8";
  if (path.size() > 3000) return "is longer than 3000 bytes";  // with a folder before it, more is no path any more
  return first_part_reason(path, [](std::string_view part) -> std::string {
    if (part.empty()) return "has an empty part";
    if (part == "." || part == "..") return "has a part \"" + std::string(part) + "\"";
    if (part.size() > 1 && name_letter(part[0]) && part[1] == ':') return "names a drive";
    if (part.size() > 255) return "has a part of more than 255 bytes";
    return {};
  });
}

bool is_name_of_records(std::string_view path, bool in_plain_directory) {
  std::string name = "/" + std::string(path) + "/";
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  if (name.find("/.tilewright/") != name.npos) return true;
  return in_plain_directory && (name == "/.cache/" || name.starts_with("/.cache/huggingface/"));
}

bool is_hash(std::string_view hash) { return (hash.size() == 40 || hash.size() == 64) && only_lower_hex(hash); }

}  // namespace tilewright::hub
