// `tilewright check`: does this port of a model equal the reference implementation?
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_check_command(CLI::App& app);

}  // namespace tilewright::cli
