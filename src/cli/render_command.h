// `tilewright render`: a chat template rendered over messages, to stdout and nothing else.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

// Its callback throws Error.
void add_render_command(CLI::App& app);

}  // namespace tilewright::cli
