// Runs the built binary as a user does: arguments, standard input, environment; collects what it prints and its exit
// code.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tilewright::test {

struct Outcome {
  int code = -1;    // exit code; 128 + signal if it was killed
  std::string out;  // stdout
  std::string err;  // stderr
};

struct RunOptions {
  std::string input;                                         // its standard input
  std::map<std::string, std::string> environment;            // added to ours; MODEL_PATH is unset unless given
  std::string stdin_path;                                    // instead of `input`
  std::string stdout_path;                                   // instead of collecting stdout
  std::function<void(pid_t, const std::string&)> on_output;  // called with what stdout holds so far
  std::function<void(pid_t, const std::string&)> on_error;   // the same of stderr
  bool leave_after_first_output = false;                     // closes our end of its stdout, as `head` does
};

inline Outcome run_program(const std::vector<std::string>& arguments, const RunOptions& options = {}) {
  int in[2], out[2], err[2];
  if (pipe(in) || pipe(out) || pipe(err)) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(options.stdin_path.empty() ? in[0] : open(options.stdin_path.c_str(), O_RDONLY), 0);
    if (options.stdout_path.empty())
      dup2(out[1], 1);
    else
      dup2(open(options.stdout_path.c_str(), O_WRONLY), 1);
    dup2(err[1], 2);
    for (const int fd : {in[0], in[1], out[0], out[1], err[0], err[1]}) close(fd);
    unsetenv("MODEL_PATH");
    for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
    const std::string program = TILEWRIGHT_BINARY_DIR "/tilewright";
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  for (const int fd : {in[0], out[1], err[1]}) close(fd);
  // Inputs of the tests fit into a pipe's buffer.
  if (!options.input.empty() && write(in[1], options.input.data(), options.input.size()) < 0) return {};
  close(in[1]);
  Outcome outcome;
  pollfd watched[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  std::string* texts[2] = {&outcome.out, &outcome.err};
  for (int open_ends = 2; open_ends > 0;) {
    poll(watched, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (watched[i].fd < 0 || !watched[i].revents) continue;
      char buffer[4096];
      const ssize_t n = read(watched[i].fd, buffer, sizeof buffer);
      if (n > 0) {
        texts[i]->append(buffer, static_cast<std::size_t>(n));
        if (i == 0 && options.on_output) options.on_output(child, outcome.out);
        if (i == 1 && options.on_error) options.on_error(child, outcome.err);
      }
      if (n <= 0 || (i == 0 && options.leave_after_first_output)) {
        close(watched[i].fd);
        watched[i].fd = -1;
        --open_ends;
      }
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace tilewright::test
