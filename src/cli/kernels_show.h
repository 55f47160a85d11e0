// `tilewright kernels show`.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_kernels_show(CLI::App& kernels);

}  // namespace tilewright::cli
