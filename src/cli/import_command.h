// `tilewright import FILE.gguf --output-dir D`: a GGUF file as a Hugging Face model directory.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

// Adds the subcommand. Its callback prints the directory on stdout, progress on stderr if that is a terminal, throws
// Error.
void add_import_command(CLI::App& app);

}  // namespace tilewright::cli
