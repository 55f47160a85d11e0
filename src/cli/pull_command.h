// `tilewright pull`: a model from the hub.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

// Its callback throws Error, WrongUsage, ExitCode.
void add_pull_command(CLI::App& app);

}  // namespace tilewright::cli
