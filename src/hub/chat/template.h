// A chat template, parsed once and rendered many times.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace tilewright::hub {

// Keeps the order of keys, which templates print. Quadratic on large objects: for messages, not for vocabularies.
using OrderedJson = nlohmann::ordered_json;

// What one rendering may use; more is an Error. The defaults hold far above honest templates.
struct RenderLimits {
  std::int64_t steps = 50'000'000;
  std::int64_t live_bytes = std::int64_t{768} << 20;
  std::size_t output_bytes = std::size_t{256} << 20;
};

class ChatTemplate {
 public:
  // `name` stands in errors, which carry the line as name:line. Throws Error for bad syntax, invalid UTF-8 and
  // constructs that are unsupported (named).
  static ChatTemplate parse(std::string source, std::string name);

  // Renders as transformers does: jinja2's immutable sandbox with trim_blocks and lstrip_blocks, plus raise_exception,
  // strftime_now and tojson. `variables` is an object. Throws Error where jinja2 raises (raise_exception: with the
  // template's message) and when a limit is reached. May be called from several threads at once.
  std::string render(const OrderedJson& variables, const RenderLimits& limits = {}) const;

  const std::string& name() const;
  const std::string& source() const;

 private:
  struct Parsed;
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace tilewright::hub
