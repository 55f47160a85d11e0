// What a repository, a revision, a file and a hash may be called. Everything a server says goes through here before it
// becomes a path.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::hub {

// "org/name" or "name": at most 96 of [A-Za-z0-9_.-], at most one '/', no "--", "..", leading or trailing '.', '-',
// no ".git" at the end.
bool is_repository_id(std::string_view id);
// Throws Error with what is wrong.
void require_repository_id(const std::string& id);
// Branch, tag, "refs/pr/1" or commit. Throws Error for what cannot be one or would leave its folder as a path.
void require_revision(const std::string& revision);
bool is_commit(std::string_view revision);  // 40 hex digits, in either case
// A commit as folders and hubs call it, in lower case; other revisions as they are.
std::string usual_revision(std::string revision);

// Why a file of a repository must not be written under this name, in one phrase; empty if it may. Refused, on every
// system: empty, absolute, a part that is "", "." or "..", a backslash, a drive ("C:"), UNC, control characters, NUL,
// what is not UTF-8, a part over 255 bytes, a name over 3000.
std::string unsafe_name_reason(std::string_view path);
// Whether a safe name lies where tools keep their own records of a directory, and would be taken for one: .tilewright
// in any folder; in a plain directory .cache/huggingface, too. In any spelling of the letters.
bool is_name_of_records(std::string_view path, bool in_plain_directory);
bool is_hash(std::string_view hash);  // 40 or 64 lower-case hex digits

}  // namespace tilewright::hub
