// Where the hub is and where its files go, from the environment variables that huggingface_hub reads.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::hub {

// Value of a variable; nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

struct HubSettings {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT; scheme://host[:port][/path], no slash at the end
  std::string login = {};                           // "user:password" of HF_ENDPOINT, for its origin, before the token
  std::string token;                                // HF_TOKEN > HF_TOKEN_PATH > $HF_HOME/token; trimmed; empty: none
  std::filesystem::path home;                       // HF_HOME > $XDG_CACHE_HOME/huggingface > ~/.cache/huggingface
  std::filesystem::path cache;                      // HF_HUB_CACHE > HF_HOME/hub
  bool offline = false;                             // HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE
  bool links = true;                                // not HF_HUB_DISABLE_SYMLINKS: else snapshots hold copies
  bool progress = true;                             // not HF_HUB_DISABLE_PROGRESS_BARS
  std::filesystem::path certificates = {};  // CURL_CA_BUNDLE > REQUESTS_CA_BUNDLE > SSL_CERT_FILE; empty: system's
  std::chrono::milliseconds listing_timeout{10000};   // HF_HUB_ETAG_TIMEOUT: until an answer begins
  std::chrono::milliseconds download_timeout{10000};  // HF_HUB_DOWNLOAD_TIMEOUT: without a byte
};

// Values that make no sense (an endpoint that is no URL, a timeout that is no number, a token that no header may hold)
// are an Error naming the variable, and never the secret. Variables that are empty count as not set.
// HF_HUB_DISABLE_IMPLICIT_TOKEN leaves the tokens of the environment and of files out, not one that the user names
// (--token).
// `token`: used instead of those, which are then not looked at (nor are they offline); empty: none is needed.
HubSettings hub_settings(const Environment& environment, const std::optional<std::string>& token = {});
// A token as it may be sent: trimmed. Throws Error naming `origin` ("--token") for one with spaces or control
// characters.
std::string usable_token(std::string_view text, const std::string& origin);
// $HF_MODULES_CACHE > $HF_HOME/modules, where transformers keeps the remote code it fetched.
std::filesystem::path modules_cache(const Environment& environment);

}  // namespace tilewright::hub
