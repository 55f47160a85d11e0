// `tilewright unpatch MODEL`: the directory as it was before `patch`.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

// Adds the subcommand. Its callback says on stderr what was restored (JSON: on stdout); throws Error.
void add_unpatch_command(CLI::App& app);

}  // namespace tilewright::cli
