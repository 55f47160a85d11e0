// `tilewright bench`: one model in several arms, measured in one process.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_bench_command(CLI::App& app);

}  // namespace tilewright::cli
