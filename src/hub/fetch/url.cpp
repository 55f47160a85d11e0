#include "hub/fetch/url.h"

#include <algorithm>
#include <charconv>

namespace tilewright::hub {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// A URL's parts, as views into it. `rest` begins at the path, or at '?' or '#'.
struct Parts {
  std::string_view scheme, login, host_and_port, rest;
  bool has_login = false;
};

std::optional<Parts> split(std::string_view url) {
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  Parts parts;
  parts.scheme = url.substr(0, colon);
  if (!std::all_of(parts.scheme.begin(), parts.scheme.end(),
                   [](char c) { return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.'; }))
    return std::nullopt;
  const std::string_view after = url.substr(colon + 3);
  const std::size_t end = std::min(after.find_first_of("/?#"), after.size());
  std::string_view authority = after.substr(0, end);
  parts.rest = after.substr(end);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    parts.has_login = true;
    parts.login = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  parts.host_and_port = authority;
  return parts;
}

bool is_host(std::string_view host) {
  if (host.size() > 253 || host.empty()) return false;
  if (host.front() == '[')
    return host.size() > 2 && host.back() == ']' && std::all_of(host.begin() + 1, host.end() - 1, [](char c) {
             return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
           });
  return std::all_of(host.begin(), host.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '_'; });
}

// Takes "." and ".." away (RFC 3986, 5.2.4), of a path that begins with '/'.
std::string without_dots(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view part = path.substr(0, end);  // "/name"
    path.remove_prefix(end);
    if (part == "/." || part == "/..") {
      if (part == "/..") out.erase(std::min(out.rfind('/'), out.size()));
      if (path.empty()) out += '/';
    } else {
      out += part;
    }
  }
  return out;
}

char hex_digit(unsigned value) { return "0123456789ABCDEF"[value & 15]; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<Origin> origin_of(std::string_view url) {
  if (std::any_of(url.begin(), url.end(), [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; }))
    return std::nullopt;
  const auto parts = split(url);
  if (!parts) return std::nullopt;
  Origin origin;
  origin.scheme = lower(parts->scheme);
  if (origin.scheme != "http" && origin.scheme != "https") return std::nullopt;
  if (parts->login.find('\\') != std::string_view::npos) return std::nullopt;
  std::string_view host = parts->host_and_port;
  origin.port = origin.scheme == "https" ? 443 : 80;
  const std::size_t bracket = host.find(']');
  if (const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
      colon != std::string_view::npos) {
    const std::string_view port = host.substr(colon + 1);
    host = host.substr(0, colon);
    if (!port.empty()) {
      const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), origin.port);
      if (error != std::errc{} || end != port.data() + port.size() || origin.port < 1 || origin.port > 65535)
        return std::nullopt;
    }
  }
  if (!is_host(host)) return std::nullopt;
  origin.host = lower(host);
  return origin;
}

std::optional<std::string> resolve_location(const std::string& base, std::string_view location) {
  while (!location.empty() && (location.front() == ' ' || location.front() == '\t')) location.remove_prefix(1);
  while (!location.empty() && (location.back() == ' ' || location.back() == '\t')) location.remove_suffix(1);
  location = location.substr(0, location.find('#'));
  std::string sendable;
  for (const char c : location) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) return std::nullopt;
    if (byte == 0x20 || byte > 0x7f)
      sendable += {'%', hex_digit(byte >> 4), hex_digit(byte)};
    else
      sendable += c;
  }
  const auto base_parts = split(base);
  if (sendable.empty() || !base_parts) return std::nullopt;

  const std::string base_start = lower(base_parts->scheme) + "://" + std::string(base_parts->host_and_port);
  const std::size_t special = sendable.find_first_of(":/?");
  std::string target;
  if (special != std::string::npos && sendable[special] == ':' && special > 0 && is_letter(sendable[0])) {
    target = sendable;
  } else if (sendable.rfind("//", 0) == 0) {
    target = lower(base_parts->scheme) + ":" + sendable;
  } else if (sendable[0] == '?') {
    target = base_start + path_of(base) + sendable;
  } else {
    const std::size_t query = std::min(sendable.find('?'), sendable.size());
    std::string path = sendable.substr(0, query);
    if (path[0] != '/') {
      const std::string base_path = path_of(base);
      path = base_path.substr(0, base_path.rfind('/') + 1) + path;
    }
    target = base_start + without_dots(path) + sendable.substr(query);
  }
  target = without_login(target).url;
  if (!origin_of(target)) return std::nullopt;
  return target;
}

std::string percent_encoded(std::string_view text, bool keep_slash) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~' || (c == '/' && keep_slash))
      out += c;
    else
      out += {'%', hex_digit(byte >> 4), hex_digit(byte)};
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

UrlLogin without_login(std::string_view url) {
  const auto parts = split(url);
  if (!parts || !parts->has_login) return {{}, std::string(url)};
  return {std::string(parts->login),
          std::string(parts->scheme) + "://" + std::string(parts->host_and_port) + std::string(parts->rest)};
}

std::string path_of(std::string_view url) {
  const auto parts = split(url);
  const std::string_view rest = parts ? parts->rest : url;
  const std::string path(rest.substr(0, rest.find_first_of("?#")));
  return path.empty() ? "/" : path;
}

std::string shown_url(std::string_view url) {
  const std::string plain = without_login(url.substr(0, url.find_first_of("?#"))).url;
  // No URL of ours, but something before an '@' may still be a password.
  if (!origin_of(plain))
    if (const std::size_t at = plain.rfind('@'); at != std::string::npos) return "…" + plain.substr(at);
  return plain;
}

}  // namespace tilewright::hub
