// tilewright: parses the command line, runs one subcommand, turns errors into exit codes.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/usage.h"
#include "report/envelope.h"

namespace tilewright {
void register_commands(CLI::App& app);
}

namespace {

// A write that failed long before the end leaves nothing to flush, but its mark on the stream.
void end_output() {
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) || !std::cout)
    tilewright::fail({.what = "the output could not be written",
                      .where = "stdout",
                      .expected = "",
                      .found = "",
                      .fix = "check that there is space left"});
}

int run(int argc, char** argv) {
  CLI::App app("Runs Hugging Face language models without Python, and shows what each optimisation buys.",
               "tilewright");
  app.set_version_flag("--version", "tilewright " + tilewright::report::tool_version());
  app.require_subcommand(1);
  tilewright::register_commands(app);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    app.parse(argc, argv);
    end_output();
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      app.exit(error);
      end_output();
      return 0;
    }
    if (dynamic_cast<const CLI::RuntimeError*>(&error)) return error.get_exit_code();
    std::fprintf(stderr, "%s\n", tilewright::cli::usage_line(app, error, arguments).c_str());
    return 2;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const tilewright::cli::ExitCode& exit) {
    std::fflush(stdout);
    return exit.code;
  } catch (const tilewright::cli::WrongUsage& usage) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", usage.what());
    return 2;
  } catch (const tilewright::Error& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "tilewright: %s\n", error.what());
    return 1;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tilewright: not enough memory\n");
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tilewright: %s\n", error.what());
    return 1;
  }
}
