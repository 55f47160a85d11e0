// `tilewright fuse`: memory-bound chains of a model's forward pass, what one kernel for each would save, and whether it
// does.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_fuse_command(CLI::App& app);

}  // namespace tilewright::cli
