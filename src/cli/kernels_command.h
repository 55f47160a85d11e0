// `tilewright kernels`: lists tile kernels; `show`, `verify` and `bench` look at them closer.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_kernels_command(CLI::App& app);

}  // namespace tilewright::cli
