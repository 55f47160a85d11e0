#include "hub/fetch/hub_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "hub/fetch/names.h"
#include "hub/fetch/url.h"

namespace tilewright::hub {
namespace {

constexpr std::size_t kLongestAnswer = 32 << 20;  // 40,000 files on one page take 12 MiB
constexpr std::size_t kMostFiles = 2'000'000;
constexpr std::size_t kMostPages = 20'000;
constexpr std::size_t kMostFolders = 50'000;  // asked for one by one

constexpr const char* kOfficialHosts[] = {"huggingface.co", "hf.co", "hub-ci.huggingface.co"};

// What an address of a listing leads to, whichever hub has it: "/api/models/…".
std::string api_path(const std::string& url) {
  const std::string path = path_of(url);
  const std::size_t at = path.find("/api/models/");
  return at == std::string::npos ? "" : path.substr(at);
}

std::string query_of(const std::string& url) {
  const std::size_t at = url.find('?');
  return at == std::string::npos ? "" : url.substr(at);
}

// Folders that the listing names without a file below them: git has no empty folders, so their files are missing.
std::vector<std::string> open_folders(const ListingPage& listing, const std::set<std::string>& asked) {
  std::unordered_set<std::string> filled;
  for (const RemoteFile& file : listing.files)
    for (std::size_t slash = file.path.rfind('/'); slash != std::string::npos && slash > 0;
         slash = file.path.rfind('/', slash - 1))
      if (!filled.insert(file.path.substr(0, slash)).second) break;
  std::vector<std::string> open;
  for (const std::string& folder : listing.folders)
    if (!filled.count(folder) && !asked.count(folder)) open.push_back(folder);
  return open;
}

std::string missing_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, names.size()); ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > 3) text += fmt::format(" and {} more", names.size() - 3);
  return text;
}

void require_siblings(const std::vector<RemoteFile>& files, const std::vector<std::string>& siblings,
                      const std::string& where) {
  std::unordered_set<std::string_view> listed;
  for (const RemoteFile& file : files) listed.insert(file.path);
  std::vector<std::string> missing;
  for (const std::string& name : siblings)
    if (!listed.count(name)) missing.push_back(name);
  if (missing.empty()) return;
  fail({.what = fmt::format("the listing lacks {} of the repository's {} files", missing.size(), siblings.size()),
        .where = where,
        .expected = "all of them: recursive=true was asked for, and may have been lost on the way",
        .found = "not " + missing_text(missing),
        .fix = "set HF_ENDPOINT to a hub that keeps the query when it redirects, or unset it"});
}

// A header's text as a message may show it: one line, not long, without our own secret.
std::string shown_header(const HttpAnswer& answer, const char* name, const std::string& token) {
  constexpr std::size_t kLongest = 300;
  const std::string* value = answer.headers.find(name);
  if (!value) return {};
  std::string text = *value;
  if (!token.empty())
    for (std::size_t at = 0; (at = text.find(token, at)) != std::string::npos;)
      text.replace(at, token.size(), "…"), ++at;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  if (text.size() > kLongest) {
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not within a character
    text = text.substr(0, end) + "…";
  }
  return text;
}

// Repository that an address of the hub is about; empty if it is none of these.
std::string repository_of(const std::string& url, const std::string& endpoint) {
  std::string path = api_path(url);
  std::size_t end = std::string::npos;
  if (!path.empty()) {
    path = path.substr(std::string_view("/api/models/").size());
    end = std::min(path.find("/revision/"), path.find("/tree/"));
  } else if (url.rfind(endpoint + "/", 0) == 0) {
    path = path_of(url).substr(path_of(endpoint + "/").size());
    end = path.find("/resolve/");
  }
  if (end == std::string::npos) return {};
  const std::string id = percent_decoded(path.substr(0, end));
  return is_repository_id(id) ? id : "";
}

}  // namespace

RepositoryInfo HubClient::repository(const std::string& id, const std::string& revision) {
  require_repository_id(id);
  require_revision(revision);
  const HttpAnswer answer = http_.get(
      settings_.endpoint + "/api/models/" + id + "/revision/" + percent_encoded(revision, false), kLongestAnswer);
  if (answer.status != 200) refuse(answer, fmt::format("revision {} of {}", revision, id));
  return parse_repository_info(answer.body, shown_url(answer.url));
}

std::string HubClient::file_url(const std::string& id, const std::string& commit, const std::string& path) const {
  return settings_.endpoint + "/" + id + "/resolve/" + commit + "/" + percent_encoded(path, true);
}

std::string HubClient::next_address(const HttpAnswer& answer, const std::string& next) const {
  const auto target = resolve_location(answer.url, next);
  const auto origin = target ? origin_of(*target) : std::nullopt;
  if (origin) {
    if (origin == origin_of(settings_.endpoint) || origin == origin_of(answer.url)) return *target;
    const bool official = origin->scheme == "https" && origin->port == 443 &&
                          std::count(std::begin(kOfficialHosts), std::end(kOfficialHosts), origin->host) > 0;
    if (official && !api_path(*target).empty() && api_path(*target) == api_path(answer.url))
      return settings_.endpoint + api_path(*target) + query_of(*target);
  }
  fail({.what = "the next page of the listing is on another server",
        .where = shown_url(answer.url),
        .expected = "an address of " + settings_.endpoint,
        .found = "\"" + shown_url(target ? *target : next).substr(0, 200) + "\"",
        .fix = "set HF_ENDPOINT to a hub that lists its repositories itself, or unset it"});
}

void HubClient::list_folder(const std::string& id, const std::string& commit, const std::string& folder,
                            ListingPage& into) {
  std::string url = settings_.endpoint + "/api/models/" + id + "/tree/" + commit +
                    (folder.empty() ? "" : "/" + percent_encoded(folder, true)) + "?recursive=true";
  std::set<std::string> asked;
  while (!url.empty()) {
    if (!asked.insert(url).second)
      fail({.what = "the pages of the listing lead round in a circle",
            .where = shown_url(url),
            .expected = "each page once",
            .found = fmt::format("one of {} again", asked.size()),
            .fix = "set HF_ENDPOINT to a hub that keeps the query when it redirects, or unset it"});
    const HttpAnswer answer = http_.get(url, kLongestAnswer);
    if (answer.status != 200) refuse(answer, "listing of " + id);
    ListingPage page = parse_listing_page(answer.body, shown_url(answer.url));
    std::move(page.files.begin(), page.files.end(), std::back_inserter(into.files));
    std::move(page.folders.begin(), page.folders.end(), std::back_inserter(into.folders));
    if (into.files.size() + into.folders.size() > kMostFiles || asked.size() > kMostPages)
      fail({.what = "the listing does not end",
            .where = shown_url(answer.url),
            .expected = fmt::format("at most {} entries on {} pages", kMostFiles, kMostPages),
            .fix = "check HF_ENDPOINT: no repository is that large"});
    url.clear();
    for (const std::string& header : answer.headers.all("link"))
      if (const auto next = next_page(header)) {
        url = next_address(answer, *next);
        break;
      }
  }
}

std::vector<RemoteFile> HubClient::files(const std::string& id, const std::string& commit,
                                         const std::vector<std::string>& siblings) {
  const std::string where = fmt::format("{} at {}", id, settings_.endpoint);
  ListingPage listing;
  list_folder(id, commit, "", listing);
  std::set<std::string> asked;
  for (auto open = open_folders(listing, asked); !open.empty(); open = open_folders(listing, asked))
    for (const std::string& folder : open) {
      if (!asked.insert(folder).second) continue;
      if (asked.size() > kMostFolders)
        fail({.what = "the listing names too many folders without their files",
              .where = where,
              .expected = fmt::format("at most {}", kMostFolders),
              .fix = "set HF_ENDPOINT to a hub that keeps the query when it redirects, or unset it"});
      list_folder(id, commit, folder, listing);
    }
  std::vector<RemoteFile> files = whole_listing(std::move(listing.files), where);
  require_siblings(files, siblings, where);
  return files;
}

void HubClient::refuse(const HttpAnswer& answer, const std::string& what, std::uint64_t size) const {
  constexpr std::uint64_t kMostOverHttp = 50'000'000'000;
  const std::string code = shown_header(answer, "x-error-code", settings_.token);
  const std::string message = shown_header(answer, "x-error-message", settings_.token);
  const std::string request = shown_header(answer, "x-request-id", settings_.token);
  const bool has_token = !settings_.token.empty();
  const int status = answer.status;

  ErrorText text{.where = what + ", " + shown_url(answer.url)};
  text.found = fmt::format("HTTP {}", status);
  if (!code.empty()) text.found += ", " + code;
  if (!message.empty()) text.found += ": " + message;
  if (!request.empty()) text.found += " (request id " + request + ")";

  const bool from_hub = origin_of(answer.url) == origin_of(settings_.endpoint);
  const std::string id = repository_of(answer.url, settings_.endpoint);
  const std::string repository = id.empty() ? "the repository" : id;
  const std::string page = settings_.endpoint + (id.empty() ? "" : "/" + id);
  if (may_pass_later(status)) {
    text.what = status == 429 ? "the hub gets too many requests" : "the hub does not answer as it should";
    text.fix = status == 429 ? "try again later; a token (HF_TOKEN) raises the limits of the hub" : "try again later";
    throw Unreachable(text);
  }
  if (code == "GatedRepo") {
    text.what = "access to " + repository + " is restricted: who uses it must accept its terms";
    text.fix =
        "accept the terms at " + page +
        (has_token ? ", with the account that the token belongs to" : ", then set HF_TOKEN to a token of that account");
  } else if (code == "RevisionNotFound") {
    text.what = repository + " has no such revision";
    text.fix = "check --revision: a branch, a tag or a commit, as listed at " + page;
  } else if (code == "EntryNotFound") {
    text.what = "the repository has no such file";
    text.fix = "check the name, as listed at " + page;
  } else if (status == 401 && has_token && message.find("nvalid") != std::string::npos) {
    text.what = "the hub does not accept the token";
    text.fix = "make a new one at " + settings_.endpoint + "/settings/tokens and set HF_TOKEN to it, or unset HF_TOKEN";
  } else if (code == "RepoNotFound" || (status == 401 && from_hub)) {
    text.what = repository + " does not exist at " + settings_.endpoint + ", or is private";
    text.fix = has_token ? "check the name, and that the token (HF_TOKEN, --token or the stored one) may read it"
                         : "check the name; if it is private, set HF_TOKEN to a token that may read it";
  } else if (status == 403 && message.find("disabled") != std::string::npos) {
    text.what = "the hub has disabled access to " + repository;
    text.fix = "see " + page;
  } else if (status == 401 || status == 403) {
    text.what = "the server refuses access";
    text.fix = !from_hub   ? "try again: signed addresses expire; if it stays, set HF_ENDPOINT to the hub itself"
               : has_token ? "check that the token (HF_TOKEN, --token or the stored one) may read " + repository
                           : "set HF_TOKEN to a token that may read " + repository;
  } else if (status == 400 && (size > kMostOverHttp || (size == 0 && api_path(answer.url).empty()))) {
    text.what = "the hub serves files of at most 50 GB over plain HTTP";
    text.expected = fmt::format("at most {} bytes", kMostOverHttp);
    if (size > 0) text.found += fmt::format(", for {} bytes", size);
    text.fix = "get larger files with Python's `hf download`, which speaks the hub's Xet protocol";
  } else if (status == 404) {
    text.what = "there is no such thing at this address";
    text.fix = "check the name and HF_ENDPOINT";
  } else {
    text.what = "the hub refuses the request";
    text.fix = "check the name and HF_ENDPOINT";
  }
  if ((status == 401 || status == 403) && !from_hub && has_token)
    text.found += fmt::format("; {} led to this server, where the token does not go", settings_.endpoint);
  fail(text);
}

}  // namespace tilewright::hub
