// The server's end of one connection: requests come out of it, bytes go into it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::test {

struct HttpRequest {
  std::string method, target;                  // as sent
  std::map<std::string, std::string> headers;  // lower-case names
  std::string header(const std::string& name) const;
  std::string path() const;                              // of the target, still encoded
  std::string query() const;                             // without '?'
  std::string parameter(const std::string& name) const;  // of the query, decoded; the last one
};

std::string percent_decoded(std::string_view text);

class HttpConnection {
 public:
  explicit HttpConnection(int socket) : socket_(socket) {}  // not the owner of it
  // The next request; nothing at the end of the connection, or if what comes is none.
  std::optional<HttpRequest> read();
  bool send(std::string_view bytes);  // false: the other side is gone
  void wants_reset();                 // closing is by RST, once all that was sent has arrived
  void finish();                      // says that nothing more comes, unless by RST

 private:
  int socket_;
  std::string unread_;
  bool reset_ = false;
};

}  // namespace tilewright::test
