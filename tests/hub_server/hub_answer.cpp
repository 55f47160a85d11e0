#include "hub_server/hub_answer.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

namespace tilewright::test {
namespace {

struct Part {
  std::uint64_t from = 0, to = 0;  // one past
};

// Of "bytes=N-", "bytes=N-M", "bytes=-N"; nothing for other forms, which a server may ignore. `from` may lie beyond.
std::optional<Part> asked_part(const std::string& range, std::uint64_t size) {
  const std::string unit = "bytes=";
  if (range.compare(0, unit.size(), unit) != 0 || range.find(',') != std::string::npos) return std::nullopt;
  const std::size_t dash = range.find('-', unit.size());
  if (dash == std::string::npos) return std::nullopt;
  const std::string first = range.substr(unit.size(), dash - unit.size()), last = range.substr(dash + 1);
  const auto number = [](const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10); };
  if (first.empty() && last.empty()) return std::nullopt;
  if (first.empty()) return Part{size - std::min<std::uint64_t>(size, number(last)), size};
  if (last.empty()) return Part{number(first), size};
  return Part{number(first), std::min<std::uint64_t>(size, number(last) == UINT64_MAX ? size : number(last) + 1)};
}

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 206:
      return "Partial Content";
    case 302:
      return "Found";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 416:
      return "Range Not Satisfiable";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Time-out";
    default:
      return "Status";
  }
}

std::string with(std::string text, const std::string& word, const std::string& value) {
  const std::size_t at = text.find(word);
  return at == std::string::npos ? text : text.replace(at, word.size(), value);
}

// The reply as this rule wants it, but for how it is sent.
void bend(Reply& reply, const Rule& rule, const HttpRequest& request) {
  if (!rule.redirect.empty()) {
    Reply other;
    other.status = rule.status.value_or(302);
    other.set("Location", with(with(rule.redirect, "{path}", request.path()), "{query}", request.query()));
    other.body = Body(rule.body.value_or("Redirecting"));
    reply = other;
  } else if (rule.status && *rule.status / 100 != 2) {
    Reply other;
    other.status = *rule.status;
    other.set("Content-Type", "text/plain; charset=utf-8");
    other.body = Body(rule.body.value_or("the hub answers " + std::to_string(*rule.status)));
    reply = other;
  } else if (rule.body) {
    reply.body = Body(*rule.body);
  }
}

class BodySender {
 public:
  BodySender(HttpConnection& connection, const Rule& rule, const AnswerHooks& hooks)
      : connection_(connection), rule_(rule), hooks_(hooks) {}

  // False: the connection is not to be used again.
  bool send(const Body& body, Part part) {
    const std::uint64_t most = rule_.drip_ms > 0 ? 1024 : std::uint64_t{256} << 10;
    std::uint64_t left = part.to - part.from;
    if (rule_.drop_after) left = std::min(left, *rule_.drop_after);
    for (std::uint64_t at = part.from; left > 0;) {
      std::string_view piece = body.at(at, std::min(most, left));
      std::string changed;
      if (rule_.flip_byte && *rule_.flip_byte >= at && *rule_.flip_byte - at < piece.size()) {
        changed = piece;
        changed[*rule_.flip_byte - at] ^= 0x20;
        piece = changed;
      }
      if (!put(piece)) return false;
      hooks_.sent(piece.size());
      at += piece.size(), left -= piece.size();
      if (rule_.drip_ms > 0 && !hooks_.wait(rule_.drip_ms)) return false;
    }
    if (rule_.drop_after) {
      if (!rule_.close_early) connection_.wants_reset();
      return false;
    }
    return !rule_.chunked || connection_.send("0\r\n\r\n");
  }

 private:
  bool put(std::string_view piece) {
    if (!rule_.chunked) return connection_.send(piece);
    char length[32];
    std::snprintf(length, sizeof length, "%zx\r\n", piece.size());
    return connection_.send(length) && connection_.send(piece) && connection_.send("\r\n");
  }

  HttpConnection& connection_;
  const Rule& rule_;
  const AnswerHooks& hooks_;
};

}  // namespace

bool send_answer(HttpConnection& connection, const HttpRequest& request, Reply reply, const Rule& rule,
                 const AnswerHooks& hooks) {
  if (rule.stall_ms > 0 && !hooks.wait(rule.stall_ms)) return false;
  bend(reply, rule, request);
  const std::uint64_t size = reply.body.size();
  Part part{0, size};
  const std::string range = request.header("range");
  const auto asked = reply.ranges && !rule.ignore_range && !rule.gzip ? asked_part(range, size) : std::nullopt;
  if (asked && asked->from >= size) {
    Reply other;
    other.status = 416;
    other.set("Content-Range", "bytes */" + std::to_string(size));
    other.set("Content-Type", "text/plain");
    other.body = Body("The requested range cannot be satisfied");
    reply = other;
    part = {0, reply.body.size()};
  } else if (asked && asked->from < asked->to) {
    part = *asked;
    if (rule.shift_range) {
      part.from = std::min(size, part.from + *rule.shift_range);
      part.to = std::min(size, part.to + *rule.shift_range);
    }
    reply.set("Content-Range",
              "bytes " + std::to_string(part.from) + "-" + std::to_string(part.to - 1) + "/" + std::to_string(size));
    reply.status = rule.slice_with_200 ? 200 : 206;
  }
  if (rule.gzip) {
    reply.body = Body(gzip_of(reply.body.all()));
    part = {0, reply.body.size()};
    reply.set("Content-Encoding", "gzip");
    reply.set("Accept-Ranges", "");
  }
  if (rule.status) reply.status = *rule.status;
  if (rule.chunked) reply.set("Transfer-Encoding", "chunked");
  if (!rule.no_length && !rule.chunked)
    reply.set("Content-Length", std::to_string(rule.claim_length.value_or(part.to - part.from)));
  const bool wants_close = request.header("connection") == "close" || request.header("connection") == "Close";
  bool again = !wants_close && !rule.no_length && !rule.claim_length && !rule.drop_after;
  if (request.method == "HEAD") again = !wants_close;
  reply.set("Connection", again ? "keep-alive" : "close");
  for (const auto& [name, value] : rule.headers) reply.set(name, value);

  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " " + reason_of(reply.status) + "\r\n";
  for (const auto& [name, value] : reply.headers) head += name + ": " + value + "\r\n";
  hooks.began(reply.status);
  if (!connection.send(head + "\r\n")) return false;
  if (request.method == "HEAD") return again;
  return BodySender(connection, rule, hooks).send(reply.body, part) && again;
}

std::string gzip_of(const std::string& bytes) {
  const auto little = [](std::uint32_t value, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  };
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  std::size_t at = 0;
  do {
    const std::size_t length = std::min<std::size_t>(bytes.size() - at, 65535);
    out += at + length == bytes.size() ? '\1' : '\0';
    out += little(static_cast<std::uint32_t>(length), 2) + little(~static_cast<std::uint32_t>(length), 2);
    out.append(bytes, at, length);
    at += length;
  } while (at < bytes.size());
  std::uint32_t sum = 0xffffffffu;
  for (const unsigned char c : bytes) {
    sum ^= c;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ (sum & 1 ? 0xedb88320u : 0);
  }
  return out + little(~sum, 4) + little(static_cast<std::uint32_t>(bytes.size()), 4);
}

}  // namespace tilewright::test
