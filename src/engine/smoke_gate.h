// Is this model fit to be measured? Quick checks that a broken port fails: without them a speed means nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "engine/session.h"

namespace tilewright::engine {

struct SmokeCheck {
  std::string name;                    // "finite logits", "text", "passage", "cycle", "golden.safetensors"
  std::optional<double> value, bound;  // of checks that compare numbers: value ≤ bound
  bool passed = true;
  bool warning = false;  // passed, but worth a look
  std::string note;      // what was found, in words
};

struct SmokeResult {
  std::string skipped;  // why nothing was checked; empty if it was
  std::vector<SmokeCheck> checks;
  bool interrupted = false;  // ended early: neither passed nor failed
  bool passed() const;       // every check did, and there was one
};

struct SmokeRequest {
  std::filesystem::path model;                       // the directory: tokenizer.json and goldens are looked for there
  std::vector<std::filesystem::path> goldens = {};   // others to compare with
  bool cut = false;                                  // fewer layers than the model has: its text is not judged
  const std::atomic<bool>* interrupted = nullptr;    // looked at between checks and tokens
  std::function<void(std::string_view)> doing = {};  // told what is under way
};

// Checks, in this order; a check that cannot be made says why in its note and passes:
//  * finite logits: of a fixed English passage (of seeded ids if the model has no tokenizer) and of what follows it;
//  * passage: the mean of −log p over the passage's tokens is at most 0.85 · ln(vocabulary). Guessing gives
//  ln(vocabulary);
//  * text: 32 greedy tokens after the passage's beginning are tokens of the tokenizer and decode to valid UTF-8;
//  * cycle: a warning if those tokens end in a cycle (token_cycle);
//  * each golden beside the model, and each that is named: check_golden is not "different".
// An Error of reading the tokenizer, of a pass or of a golden becomes a failed check. The session should fuse nothing.
SmokeResult smoke_gate(Session& session, const SmokeRequest& request);

// What is skipped on purpose: {"skipped": why}; else {"ran", "passed", "checks": […]} as docs/report.md says.
Json smoke_json(const SmokeResult& result);
// The same back. Throws Error if it is no such object.
SmokeResult smoke_from_json(const Json& json, const std::string& where);

// The passage, own text: plain English of some 130 words.
std::string_view smoke_passage();

struct TokenCycle {
  std::int64_t period = 0;   // tokens
  std::int64_t repeats = 0;  // whole ones, at the end
};
// The shortest period with which the tokens end: at least three whole repeats that cover at least 12 tokens.
std::optional<TokenCycle> token_cycle(std::span<const std::int64_t> tokens);

}  // namespace tilewright::engine
