#include "hub_server/http_connection.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace tilewright::test {
namespace {

constexpr std::size_t kLongestHead = 64 << 10, kLongestBody = 1 << 20;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return "";
  return std::string(text.substr(from, text.find_last_not_of(" \t") - from + 1));
}

std::optional<HttpRequest> parsed(std::string_view head) {
  HttpRequest request;
  bool first = true;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    if (first) {
      const std::size_t one = line.find(' '), two = line.rfind(' ');
      if (one == std::string_view::npos || one == two) return std::nullopt;
      request.method = std::string(line.substr(0, one));
      request.target = std::string(line.substr(one + 1, two - one - 1));
      first = false;
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    request.headers[lower(std::string(line.substr(0, colon)))] = trimmed(line.substr(colon + 1));
  }
  if (first) return std::nullopt;
  return request;
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && std::isxdigit(static_cast<unsigned char>(text[i + 1])) &&
        std::isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::string HttpRequest::path() const { return target.substr(0, target.find('?')); }

std::string HttpRequest::query() const {
  const std::size_t mark = target.find('?');
  return mark == std::string::npos ? "" : target.substr(mark + 1);
}

std::string HttpRequest::parameter(const std::string& name) const {
  const std::string all = "&" + query();
  const std::size_t at = all.rfind("&" + name + "=");
  if (at == std::string::npos) return "";
  const std::size_t from = at + name.size() + 2;
  return percent_decoded(std::string_view(all).substr(from, all.find('&', from) - from));
}

std::optional<HttpRequest> HttpConnection::read() {
  char buffer[16 << 10];
  const auto more = [&] {
    const ssize_t got = recv(socket_, buffer, sizeof buffer, 0);
    if (got <= 0) return got < 0 && errno == EINTR;
    unread_.append(buffer, static_cast<std::size_t>(got));
    return true;
  };
  std::size_t end;
  while ((end = unread_.find("\r\n\r\n")) == std::string::npos)
    if (unread_.size() > kLongestHead || !more()) return std::nullopt;
  std::optional<HttpRequest> request = parsed(std::string_view(unread_).substr(0, end));
  unread_.erase(0, end + 4);
  if (!request) return std::nullopt;
  const std::size_t body = std::strtoull(request->header("content-length").c_str(), nullptr, 10);
  if (body > kLongestBody) return std::nullopt;
  while (unread_.size() < body)
    if (!more()) return std::nullopt;
  unread_.erase(0, body);
  return request;
}

bool HttpConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void HttpConnection::wants_reset() {
  reset_ = true;
  // What still waits here would never be sent.
  for (int turn = 0, waiting = 0; turn < 2000; ++turn) {
    if (ioctl(socket_, SIOCOUTQ, &waiting) != 0 || waiting == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const linger at_once = {1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void HttpConnection::finish() {
  if (!reset_) shutdown(socket_, SHUT_WR);
}

}  // namespace tilewright::test
