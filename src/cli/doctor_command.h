// `tilewright doctor`: what this machine has, and why a device is unavailable.
#pragma once

namespace CLI {
class App;
}

namespace tilewright::cli {

void add_doctor_command(CLI::App& app);

}  // namespace tilewright::cli
