// `tilewright errors [CODE]`: what the codes of captures and the runtime mean, what causes them and what to do.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_errors_command(CLI::App& app);
// The same under another name: `tilewright capture explain`.
void add_errors_subcommand(CLI::App& parent, const char* name, const char* command);

}  // namespace tilewright::cli
