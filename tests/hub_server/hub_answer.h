// Puts a reply on the wire, well or as a rule wants it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hub_server/http_connection.h"
#include "hub_server/hub_routes.h"

namespace tilewright::test {

struct AnswerHooks {
  std::function<bool(int milliseconds)> wait;  // false: the server stops
  std::function<void(int status)> began = [](int) {};
  std::function<void(std::uint64_t)> sent = [](std::uint64_t) {};  // so many more bytes of the body
};

// Whether the connection may take another request.
bool send_answer(HttpConnection& connection, const HttpRequest& request, Reply reply, const Rule& rule,
                 const AnswerHooks& hooks);

std::string gzip_of(const std::string& bytes);  // stored, not made smaller

}  // namespace tilewright::test
