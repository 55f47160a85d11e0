#include "hub/fetch/hub_settings.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "hub/fetch/url.h"

namespace tilewright::hub {
namespace {

std::optional<std::string> filled(const Environment& environment, const std::string& name) {
  auto value = environment(name);
  if (value && value->empty()) value.reset();
  return value;
}

bool is_true(const std::optional<std::string>& value) {
  if (!value) return false;
  std::string upper = *value;
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return upper == "1" || upper == "ON" || upper == "YES" || upper == "TRUE";
}

std::string home_folder(const Environment& environment) {
  if (const auto home = filled(environment, "HOME")) return *home;
  passwd entry = {};
  passwd* found = nullptr;
  char text[4096];
  if (getpwuid_r(getuid(), &entry, text, sizeof(text), &found) == 0 && found && found->pw_dir && *found->pw_dir)
    return found->pw_dir;
  fail({.what = "there is no home folder to keep the hub's cache in",
        .where = "HOME",
        .fix = "set HF_HOME to a folder for the cache"});
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// "~" at the beginning, $NAME and ${NAME}, as Python's expanduser and expandvars: what is not set stays as it is.
std::filesystem::path expanded(const Environment& environment, std::string text) {
  if (text == "~" || text.rfind("~/", 0) == 0) text = home_folder(environment) + text.substr(1);
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t begin = i + 1, end = begin, after = begin;
    if (text[i] == '$' && begin < text.size() && text[begin] == '{') {
      end = text.find('}', ++begin);
      after = end == std::string::npos ? end : end + 1;
    } else if (text[i] == '$') {
      while (end < text.size() && is_name_char(text[end])) ++end;
      after = end;
    }
    if (end != std::string::npos && end > begin) {
      if (const auto value = environment(text.substr(begin, end - begin))) {
        out += *value;
        i = after;
        continue;
      }
    }
    out += text[i++];
  }
  return out;
}

std::filesystem::path home_of_hub(const Environment& environment) {
  if (const auto home = filled(environment, "HF_HOME")) return expanded(environment, *home);
  if (const auto cache = filled(environment, "XDG_CACHE_HOME")) return expanded(environment, *cache) / "huggingface";
  return std::filesystem::path(home_folder(environment)) / ".cache" / "huggingface";
}

std::chrono::milliseconds timeout_of(const Environment& environment, const std::string& name,
                                     std::chrono::milliseconds otherwise) {
  const auto text = filled(environment, name);
  if (!text) return otherwise;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  constexpr double kLongest = 1e6;
  if (error != std::errc{} || end != text->data() + text->size() || !(seconds >= 0 && seconds <= kLongest))
    fail({.what = "this is no timeout",
          .where = name,
          .expected = "seconds, 0 (the default) to 1000000",
          .found = "\"" + *text + "\"",
          .fix = "correct or unset " + name});
  if (seconds == 0) return otherwise;
  return std::chrono::milliseconds(std::max(1LL, std::llround(seconds * 1000)));
}

void set_endpoint(HubSettings& settings, std::string text) {
  UrlLogin parts = without_login(text);
  std::string endpoint = parts.url;
  while (!endpoint.empty() && endpoint.back() == '/') endpoint.pop_back();
  if (!origin_of(endpoint) || endpoint.find_first_of("?#") != std::string::npos)
    fail({.what = "this is no address of a hub",
          .where = "HF_ENDPOINT",
          .expected = "http:// or https://, a host, maybe a port and a path",
          .found = "\"" + shown_url(text) + "\"",
          .fix = "for example HF_ENDPOINT=https://huggingface.co, or unset it"});
  settings.endpoint = std::move(endpoint);
  settings.login = percent_decoded(parts.login);
  if (std::any_of(settings.login.begin(), settings.login.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    fail({.what = "the user or password holds control characters",
          .where = "HF_ENDPOINT",
          .fix = "correct the part before the '@' in HF_ENDPOINT"});
}

// Empty if there is no such file.
std::string stored_token(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    std::error_code error;
    if (std::filesystem::exists(file, error) && !error)
      fail({.what = "the stored token cannot be read",
            .where = file.string(),
            .fix = "give yourself the right to read it, or set HF_TOKEN or HF_HUB_DISABLE_IMPLICIT_TOKEN=1"});
    return {};
  }
  std::string text(4096, '\0');  // far longer than a token
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return usable_token(text, file.string());
}

std::string token_of(const Environment& environment, const std::filesystem::path& home) {
  if (is_true(environment("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return {};
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
    if (const auto text = filled(environment, name)) {
      const std::string token = usable_token(*text, name);
      if (!token.empty()) return token;
    }
  const auto path = filled(environment, "HF_TOKEN_PATH");
  return stored_token(path ? expanded(environment, *path) : home / "token");
}

}  // namespace

std::string usable_token(std::string_view text, const std::string& origin) {
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  for (const char c : text)
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      fail({.what = "the token holds a space, a line break or another character that no token has",
            .where = origin,
            .expected = "one line of letters, digits and '_'",
            .fix = "copy the token anew from the hub's page settings/tokens"});
  return std::string(text);
}

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (!value) return std::nullopt;
    return std::string(value);
  };
}

HubSettings hub_settings(const Environment& environment, const std::optional<std::string>& token) {
  HubSettings settings;
  if (const auto endpoint = filled(environment, "HF_ENDPOINT")) set_endpoint(settings, *endpoint);
  settings.home = home_of_hub(environment);
  settings.cache = settings.home / "hub";
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const auto cache = filled(environment, name)) {
      settings.cache = expanded(environment, *cache);
      break;
    }
  const auto offline = filled(environment, "HF_HUB_OFFLINE");  // "0" wins over TRANSFORMERS_OFFLINE=1
  settings.offline = is_true(offline ? offline : filled(environment, "TRANSFORMERS_OFFLINE"));
  if (token)
    settings.token = *token;
  else if (!settings.offline)
    settings.token = token_of(environment, settings.home);
  settings.links = !is_true(environment("HF_HUB_DISABLE_SYMLINKS"));
  settings.progress = !is_true(environment("HF_HUB_DISABLE_PROGRESS_BARS"));
  for (const char* name : {"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"})
    if (const auto file = filled(environment, name)) {
      settings.certificates = *file;
      break;
    }
  settings.listing_timeout = timeout_of(environment, "HF_HUB_ETAG_TIMEOUT", settings.listing_timeout);
  settings.download_timeout = timeout_of(environment, "HF_HUB_DOWNLOAD_TIMEOUT", settings.download_timeout);
  return settings;
}

std::filesystem::path modules_cache(const Environment& environment) {
  if (const auto modules = filled(environment, "HF_MODULES_CACHE")) return expanded(environment, *modules);
  return home_of_hub(environment) / "modules";
}

}  // namespace tilewright::hub
