// `tilewright capture`: can a model be captured, what keeps it from that, and what the captured graph is.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_capture_command(CLI::App& app);

}  // namespace tilewright::cli
