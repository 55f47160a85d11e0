// `tilewright port`: from a model to a report: smoke gate, arms, page.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_port_command(CLI::App& app);

}  // namespace tilewright::cli
