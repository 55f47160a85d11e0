#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <stdexcept>

#include "hub_server/raw_client.h"

namespace tilewright::test {
namespace {

int connected(const std::string& endpoint) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
  close(socket);
  return -1;
}

}  // namespace

bool refuses_connections(const std::string& endpoint) {
  const int socket = connected(endpoint);
  if (socket >= 0) close(socket);
  return socket < 0;
}

std::string send_raw(const std::string& endpoint, const std::string& text, bool* reset) {
  const int socket = connected(endpoint);
  if (socket < 0) throw std::runtime_error("no connection to " + endpoint);
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  std::string all;
  char buffer[64 << 10];
  while (true) {
    const ssize_t count = recv(socket, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (reset) *reset = count < 0;
    if (count <= 0) break;
    all.append(buffer, static_cast<std::size_t>(count));
  }
  close(socket);
  return all;
}

RawAnswer ask(const std::string& endpoint, const std::string& method, const std::string& target,
              const std::string& headers) {
  RawAnswer answer;
  std::string all =
      send_raw(endpoint, method + " " + target + " HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n" + headers + "\r\n",
               &answer.reset);
  const std::size_t end = all.find("\r\n\r\n");
  if (end == std::string::npos) return answer;
  answer.body = all.substr(end + 4);
  all.resize(end + 2);
  answer.status = std::stoi(all.substr(all.find(' ') + 1));
  for (std::size_t at = all.find("\r\n") + 2; at < all.size();) {
    const std::size_t stop = all.find("\r\n", at), colon = all.find(": ", at);
    std::string name = all.substr(at, colon - at);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    answer.headers[name] = all.substr(colon + 2, stop - colon - 2);
    at = stop + 2;
  }
  return answer;
}

}  // namespace tilewright::test
