// Any bytes are a template: it parses and renders over a fixed conversation, or throws Error.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "hub/chat/template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright::hub;
  static const OrderedJson variables = OrderedJson::parse(
      R"({"messages": [{"role": "user", "content": "Hi é"}, {"role": "assistant", "content": null, "tool_calls":
      [{"function": {"name": "f", "arguments": {"a": [1, 2.5, true]}}}]}], "tools": null, "s": "ab c", "n": 3, "f": 0.5})");
  try {
    const ChatTemplate chat = ChatTemplate::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
    const RenderLimits limits{.steps = 200'000, .live_bytes = 64 << 20, .output_bytes = 1 << 20};
    const std::string text = chat.render(variables, limits);
    if (text != chat.render(variables, limits) && text.find('<') == std::string::npos) {
      // Only the time and printed functions may differ between two renderings.
      if (chat.source().find("strftime_now") == std::string::npos) std::abort();
    }
  } catch (const tilewright::Error&) {
  }
  return 0;
}
