#include "cli/patch_texts.h"

#include <fmt/format.h>

#include <filesystem>

namespace tilewright::cli {
namespace {

// Names come from other people's directories: one must not write a line, or orders to the terminal, of its own.
std::string shown(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

template <typename List>
void add_lines(std::string& out, const char* label, const List& items) {
  for (const std::string& item : items) out += fmt::format("{:<11}{}\n", label, shown(item));
}

void add_notes(std::string& out, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) out += fmt::format("note: {}\n", shown(note));
}

std::string pinned_to(const hub::Pin& pin) {
  return fmt::format("{} (Tilewright {}, {} files)",
                     pin.family.empty() ? "Python code of the directory's auto_map" : shown(pin.family),
                     shown(pin.version), pin.files.size());
}

Json paths(const std::vector<hub::PatchedFile>& files) {
  Json out = Json::array();
  for (const hub::PatchedFile& file : files) out.push_back(file.path);
  return out;
}

}  // namespace

std::string patch_text(const hub::PatchResult& result) {
  std::string out;
  add_notes(out, result.notes);
  if (!result.nothing_to_do) {
    add_lines(out, "removed", result.removed_auto_maps);
    add_lines(out, "changed", result.changed);
    add_lines(out, "added", result.added);
  }
  for (const std::filesystem::path& folder : result.cleared)
    out += fmt::format("{:<11}{}\n", "cleared", shown(folder.string()));
  out += fmt::format("{:<11}{}{}\n", "pinned to", pinned_to(result.pin),
                     result.nothing_to_do ? " already: nothing to do" : "");
  return out;
}

std::string status_text(const hub::PatchStatus& status, const std::string& model) {
  std::string out;
  if (status.unfinished)
    out += "a command was interrupted here: the next patch or unpatch finishes or undoes what it began\n";
  add_lines(out, "damaged", status.damaged);
  if (!status.patched && !status.pinned && status.damaged.empty())
    out += fmt::format("not patched: {}\n", shown(model));
  if (status.overlay) out += "this is an overlay of another directory\n";
  for (const hub::PatchedFile& file : status.changed) add_lines(out, "changed", std::vector{file.path});
  for (const hub::PatchedFile& file : status.added) add_lines(out, "added", std::vector{file.path});
  if (status.pinned) out += fmt::format("{:<11}{}\n", "pinned to", pinned_to(status.pin));
  for (const hub::PinDifference& d : status.differences)
    out += fmt::format("{:<11}{} ({})\n", "differs", shown(d.file), hub::pin_difference_name(d.kind));
  if (status.pinned && status.differences.empty() && status.damaged.empty()) out += "all files are as pinned\n";
  for (const std::string& file : status.foreign)
    out += fmt::format("{:<11}{} (PyPTO-Gym patched it; unpatch restores the publisher's)\n", "backup of", shown(file));
  return out;
}

std::string unpatch_text(const hub::UnpatchResult& result, const std::string& model) {
  std::string out;
  add_notes(out, result.notes);
  if (result.nothing_to_do) return out + fmt::format("not patched, nothing to do: {}\n", shown(model));
  add_lines(out, "restored", result.restored);
  add_lines(out, "removed", result.removed);
  add_lines(out, "kept", result.kept);
  if (result.restored.empty() && result.removed.empty()) out += "the pin is removed; no file had been changed\n";
  return out;
}

Json patch_result_json(const hub::PatchResult& result) {
  Json cleared = Json::array();
  for (const std::filesystem::path& folder : result.cleared) cleared.push_back(folder.string());
  return {{"path", result.path.string()},  {"family", result.pin.family},
          {"version", result.pin.version}, {"changed", result.changed},
          {"added", result.added},         {"removed_auto_maps", result.removed_auto_maps},
          {"cleared", std::move(cleared)}, {"pinned", result.pin.files},
          {"notes", result.notes},         {"nothing_to_do", result.nothing_to_do}};
}

Json patch_status_json(const hub::PatchStatus& status, const std::string& model) {
  Json differences = Json::array();
  for (const hub::PinDifference& d : status.differences)
    differences.push_back({{"file", d.file}, {"kind", hub::pin_difference_name(d.kind)}});
  return {{"path", model},
          {"patched", status.patched},
          {"pinned", status.pinned},
          {"overlay", status.overlay},
          {"unfinished", status.unfinished},
          {"family", status.pinned ? Json(status.pin.family) : Json()},
          {"version", status.pinned ? Json(status.pin.version) : Json()},
          {"changed", paths(status.changed)},
          {"added", paths(status.added)},
          {"differences", std::move(differences)},
          {"foreign_backups", status.foreign},
          {"damaged", status.damaged}};
}

Json unpatch_result_json(const hub::UnpatchResult& result, const std::string& model) {
  return {{"path", model},       {"restored", result.restored}, {"removed", result.removed},
          {"kept", result.kept}, {"notes", result.notes},       {"nothing_to_do", result.nothing_to_do}};
}

std::string json_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace tilewright::cli
