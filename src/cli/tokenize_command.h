// `tilewright tokenize`: the ids of a text, and back.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_tokenize_command(CLI::App& app);

}  // namespace tilewright::cli
