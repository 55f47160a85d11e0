// `tilewright patch MODEL`: a model directory pinned to code that is here, in place or as an overlay; --status.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

// Adds the subcommand. Its callback prints one line "export MODEL_PATH='…'" on stdout (or JSON, or the status) and what
// was done on stderr; throws Error and WrongUsage.
void add_patch_command(CLI::App& app);

}  // namespace tilewright::cli
