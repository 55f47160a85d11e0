// `tilewright ask`: one answer of a model, streamed to stdout; figures on stderr.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_ask_command(CLI::App& app);

}  // namespace tilewright::cli
