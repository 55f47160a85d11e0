// Files that appear whole beside others, in folders that other programs share with us.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tilewright::hub {

// "name.<16 random hex digits>.tmp" beside `path`: nobody else's.
std::filesystem::path unique_name_beside(const std::filesystem::path& path);

// Writes a file of its own and renames it to `path`: a link there is replaced, never followed. Folders must exist.
// Throws Error.
void replace_file(const std::filesystem::path& path, std::string_view text);

// The same with another file's bytes, in constant memory.
void replace_with_copy(const std::filesystem::path& path, const std::filesystem::path& from);

// The same with a link.
void replace_with_link(const std::filesystem::path& path, const std::filesystem::path& target);

// The first folder of `relative` below `root` (its last part is a file) that is a link; empty if none is.
std::filesystem::path linked_folder(const std::filesystem::path& root, const std::filesystem::path& relative);

// Makes `root` and the folders of `relative` (its last part is a file). Throws Error if one of those below `root` is a
// link or no folder: a link would lead out of `root`.
void make_folders_for(const std::filesystem::path& root, const std::filesystem::path& relative);

}  // namespace tilewright::hub
