// The JSON envelope of every report: {kind, schema, version, command, tool, machine, seeds, created, result{…}}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/json.h"

namespace tilewright::report {

inline constexpr int kEnvelopeVersion = 1;

struct Report {
  std::string kind;                            // "ask", "check", "limits" …
  std::map<std::string, std::uint64_t> seeds;  // by what they seed
  Json result = Json::object();                // the fields an issue lists
};

// Fills in command (this process's, word by word), tool (name, version, commit), machine (processor, instruction set,
// threads, memory, system) and the time of creation (UTC, ISO 8601).
Json envelope(const Report& report);

// Writes an envelope as a whole file; bytes that are not UTF-8 are replaced. Throws Error if the file cannot be written.
void write_envelope(const std::filesystem::path& path, const Json& envelope);
void write_report(const std::filesystem::path& path, const Report& report);

// This program's version: "0.1.0".
std::string tool_version();

// The commit of the source tree that this program was built from, "+changes" behind it where files differed from it;
// empty outside of a repository.
std::string source_commit();

}  // namespace tilewright::report
