// A child process that answers lines with lines.
#pragma once

#include <string>
#include <vector>

namespace tilewright::bench {

class Child {
 public:
  // Starts argv[0], looked for on the path. Its stderr is dropped unless `keep_stderr`. Throws Error if it cannot
  // start.
  explicit Child(const std::vector<std::string>& argv, bool keep_stderr = false);
  ~Child();  // closes its stdin and waits; a child that does not end by then is terminated after some seconds
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void write_line(const std::string& line);
  std::string read_line();  // empty at the end of its output
  std::string read_all();
  int wait();  // exit status; 128 + signal if it was killed

 private:
  int pid_ = -1, to_ = -1, from_ = -1;
  std::string buffer_;
};

}  // namespace tilewright::bench
