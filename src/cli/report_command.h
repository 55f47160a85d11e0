// `tilewright report`: a report rendered again, or two runs side by side.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

// Its callback throws Error.
void add_report_command(CLI::App& app);

}  // namespace tilewright::cli
