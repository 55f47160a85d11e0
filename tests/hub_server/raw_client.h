// A client of a few lines on a socket: it shows the bytes as they come, and corrects nothing.
#pragma once

#include <map>
#include <string>

namespace tilewright::test {

struct RawAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // lower-case names
  std::string body;                            // everything after the head, chunks as they are
  bool reset = false;                          // the connection ended by RST
};

// One request on a connection of its own, which is to be closed afterwards; `headers` as "Name: value\r\n"…
RawAnswer ask(const std::string& endpoint, const std::string& method, const std::string& target,
              const std::string& headers = "");
// Several texts sent at once on one connection; all that comes back until it ends.
std::string send_raw(const std::string& endpoint, const std::string& text, bool* reset = nullptr);
bool refuses_connections(const std::string& endpoint);

}  // namespace tilewright::test
