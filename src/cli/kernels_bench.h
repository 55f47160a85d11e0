// `tilewright kernels bench`.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_kernels_bench(CLI::App& kernels);

}  // namespace tilewright::cli
