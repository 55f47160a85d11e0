#include "support/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

extern char** environ;

namespace tilewright::bench {

Child::Child(const std::vector<std::string>& argv, bool keep_stderr) {
  int down[2], up[2];
  TW_CHECK(::pipe2(down, O_CLOEXEC) == 0 && ::pipe2(up, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, up[1], STDOUT_FILENO);
  if (!keep_stderr) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const int error = ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(down[0]);
  ::close(up[1]);
  to_ = down[1];
  from_ = up[0];
  if (error) {
    pid_ = -1;
    ::close(to_);
    ::close(from_);
    fail(
        {.what = "cannot start a program", .where = argv[0], .expected = "", .found = std::strerror(error), .fix = ""});
  }
}

Child::~Child() {
  if (to_ >= 0) ::close(to_);
  if (from_ >= 0) ::close(from_);
  if (pid_ < 0) return;
  for (int tenths = 0; tenths < 50; ++tenths) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) return;
    ::usleep(100000);
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Child::write_line(const std::string& line) {
  const std::string text = line + "\n";
  ::signal(SIGPIPE, SIG_IGN);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(to_, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // it has gone: the next read_line says so
    at += static_cast<std::size_t>(n);
  }
}

std::string Child::read_line() {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    char chunk[4096];
    const ssize_t n = ::read(from_, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      std::string line;
      line.swap(buffer_);
      return line;
    }
    buffer_.append(chunk, static_cast<std::size_t>(n));
  }
}

std::string Child::read_all() {
  std::string all;
  all.swap(buffer_);
  char chunk[4096];
  for (;;) {
    const ssize_t n = ::read(from_, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return all;
    all.append(chunk, static_cast<std::size_t>(n));
  }
}

int Child::wait() {
  ::close(to_);
  to_ = -1;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace tilewright::bench
