// `tilewright kernels verify`.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_kernels_verify(CLI::App& kernels);

}  // namespace tilewright::cli
