// `tilewright kernels tuning`: what `--fuse auto` decided on this device.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_kernels_tuning(CLI::App& kernels);

}  // namespace tilewright::cli
