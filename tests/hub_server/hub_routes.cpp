#include "hub_server/hub_routes.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "base/json.h"

namespace tilewright::test {
namespace {

using Repository = std::shared_ptr<const ServedRepository>;

Reply refusal(int status, const std::string& code, const std::string& message) {
  Reply reply;
  reply.status = status;
  reply.set("Content-Type", "application/json; charset=utf-8");
  reply.set("X-Error-Code", code);
  reply.set("X-Error-Message", message);
  reply.body = Body(Json{{"error", message}}.dump());
  return reply;
}

Reply json_reply(std::string text) {
  Reply reply;
  reply.set("Content-Type", "application/json; charset=utf-8");
  reply.body = Body(std::move(text));
  return reply;
}

std::string encoded(const std::string& text, const std::string& kept) {
  std::string out;
  for (const unsigned char c : text) {
    if (std::isalnum(c) || kept.find(static_cast<char>(c)) != std::string::npos) {
      out += static_cast<char>(c);
    } else {
      constexpr char kDigits[] = "0123456789ABCDEF";
      out += '%', out += kDigits[c >> 4], out += kDigits[c & 15];
    }
  }
  return out;
}

std::string encoded_path(const std::string& path) { return encoded(path, "/-_.~"); }

// With parts that a client which decodes and encodes again would change.
std::string signed_query(const std::string& id, const ServedFile& file) {
  const std::string name = file.path.substr(file.path.rfind('/') + 1);
  const std::string policy =
      "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=key%2F20260101%2Fus-east-1&Expires=3600"
      "&response-content-disposition=inline%3B+filename%2A%3DUTF-8%27%27" +
      encoded(name, "-_.~") + "%3B&Policy=eyJTdGF0ZW1lbnQi~_-w%3D%3D&x-id=GetObject";
  return policy + "&Signature=" + hash_of_text(id + "\n" + file.path + "\n" + policy);
}

// "ID/WORD/REST", split where that leaves the id of a repository, which may itself be called WORD; else at the first
// WORD.
struct Target {
  std::string id, rest;
};
std::optional<Target> split_at(const Hub& hub, const std::string& path, const std::string& word) {
  std::optional<Target> first;
  const std::string middle = "/" + word + "/";
  for (std::size_t at = path.find(middle); at != std::string::npos; at = path.find(middle, at + 1)) {
    const std::string id = path.substr(0, at);
    if (id.empty() || std::count(id.begin(), id.end(), '/') > 1) continue;
    Target target{percent_decoded(id), path.substr(at + middle.size())};
    if (hub.repository(target.id)) return target;
    if (!first) first = std::move(target);
  }
  return first;
}

// The repository, or why this client does not see it.
std::optional<Reply> not_visible(const Repository& repository, const HttpRequest& request) {
  const std::string authorization = request.header("authorization");
  if (!repository) {
    if (authorization.empty()) return refusal(401, "RepoNotFound", "Repository not found");
    return refusal(404, "RepoNotFound", "Repository not found");
  }
  if (!repository->token.empty() && authorization != "Bearer " + repository->token) {
    Reply reply = refusal(401, "RepoNotFound", "Invalid username or password.");
    reply.set("WWW-Authenticate", "Bearer realm=\"Authentication required\"");
    return reply;
  }
  return std::nullopt;
}

// The commit that a revision, as it stands in a target, is at.
std::optional<std::string> commit_of(const ServedRepository& repository, const std::string& revision) {
  if (!repository.has_revision(revision)) return std::nullopt;
  const auto ref = repository.refs.find(revision);
  if (ref != repository.refs.end()) return ref->second;
  return revision == "main" ? repository.commit : revision;
}

Reply no_revision(const std::string& revision) {
  return refusal(404, "RevisionNotFound", "Invalid rev id: " + revision);
}

Reply info_reply(const ServedRepository& repository, const std::string& revision, bool blobs) {
  const auto commit = commit_of(repository, revision);
  if (!commit) return no_revision(revision);
  Json siblings = Json::array();
  for (const ServedFile& file : repository.files) {
    Json sibling = {{"rfilename", file.path}};
    if (blobs) {
      sibling["size"] = file.body.size(), sibling["blobId"] = file.blob_id;
      if (file.lfs)
        sibling["lfs"] = {{"sha256", file.etag}, {"size", file.body.size()}, {"pointerSize", file.pointer_size}};
    }
    siblings.push_back(std::move(sibling));
  }
  Json info = {{"_id", "621ffdc036468d709f17434d"},
               {"id", repository.id},
               {"modelId", repository.id},
               {"private", !repository.token.empty()},
               {"gated", false},
               {"disabled", false},
               {"tags", Json::array()},
               {"downloads", 0},
               {"likes", 0},
               {"sha", *commit},
               {"siblings", std::move(siblings)}};
  if (repository.gated) info["gated"] = "manual";
  return json_reply(info.dump());
}

// What lies directly in a folder ("" is the top).
std::vector<std::string> entries_of(const ServedRepository& repository, const std::string& folder, bool recursive) {
  const std::string prefix = folder.empty() ? "" : folder + "/";
  std::set<std::string> folders;
  std::vector<std::string> files;
  for (const ServedFile& file : repository.files) {
    if (file.path.compare(0, prefix.size(), prefix) != 0) continue;
    for (std::size_t slash = file.path.find('/', prefix.size()); slash != std::string::npos;
         slash = file.path.find('/', slash + 1)) {
      folders.insert(file.path.substr(0, slash));
      if (!recursive) break;
    }
    if (recursive || file.path.find('/', prefix.size()) == std::string::npos) files.push_back(tree_entry(file));
  }
  std::vector<std::string> entries;
  for (const std::string& name : folders) entries.push_back(tree_entry_of_folder(name));
  entries.insert(entries.end(), files.begin(), files.end());
  return entries;
}

Reply tree_reply(const Hub& hub, const HttpRequest& request, const ServedRepository& repository,
                 const std::string& rest) {
  const std::string revision = percent_decoded(rest.substr(0, rest.find('/')));
  const std::string folder =
      rest.find('/') == std::string::npos ? "" : percent_decoded(rest.substr(rest.find('/') + 1));
  if (!commit_of(repository, revision)) return no_revision(revision);
  const std::string asked = request.parameter("recursive");
  const bool recursive = asked == "true" || asked == "True" || asked == "1";
  std::vector<std::string> some;
  const bool whole = recursive && folder.empty();
  if (!whole) some = entries_of(repository, folder, recursive);
  const std::vector<std::string>& entries = whole ? repository.recursive_listing : some;
  if (entries.empty() && !folder.empty())
    return refusal(404, "EntryNotFound", folder + " does not exist on \"" + revision + "\"");
  const std::size_t from =
      std::min<std::size_t>(std::strtoul(request.parameter("cursor").c_str(), nullptr, 10), entries.size());
  const std::size_t to = std::min(entries.size(), from + static_cast<std::size_t>(std::max(hub.page_size, 1)));
  std::string text = "[";
  for (std::size_t i = from; i < to; ++i) text += (i > from ? "," : "") + entries[i];
  Reply reply = json_reply(text + "]");
  if (to < entries.size())
    reply.set("Link", "<" + hub.endpoint + request.path() + "?" + (recursive ? "recursive=true&" : "") + "limit=" +
                          std::to_string(hub.page_size) + "&cursor=" + std::to_string(to) + "%3D%3D>; rel=\"next\"");
  return reply;
}

Reply file_reply(const ServedFile& file) {
  Reply reply;
  reply.ranges = true;
  reply.body = file.body;
  reply.set("Content-Type", file.lfs ? "application/octet-stream" : "text/plain; charset=utf-8");
  reply.set("ETag", "\"" + file.etag + "\"");
  reply.set("Accept-Ranges", "bytes");
  return reply;
}

Reply resolve_reply(const Hub& hub, const ServedRepository& repository, const std::string& rest) {
  const std::string revision = percent_decoded(rest.substr(0, rest.find('/')));
  const std::string path = rest.find('/') == std::string::npos ? "" : percent_decoded(rest.substr(rest.find('/') + 1));
  if (repository.gated)
    return refusal(403, "GatedRepo",
                   "Access to model " + repository.id +
                       " is restricted and you are not in the authorized list. Visit " + hub.endpoint + "/" +
                       repository.id + " to ask for access.");
  const auto commit = commit_of(repository, revision);
  if (!commit) return no_revision(revision);
  const ServedFile* file = repository.find(path);
  if (!file) {
    Reply reply = refusal(404, "EntryNotFound", "Entry not found");
    reply.set("X-Repo-Commit", *commit);
    return reply;
  }
  Reply reply = file_reply(*file);
  if (file->lfs && hub.cdn_for_lfs) {
    const std::string location =
        hub.cdn + "/cdn/" + repository.id + "/" + encoded_path(path) + "?" + signed_query(repository.id, *file);
    reply = Reply();
    reply.status = 302;
    reply.set("Content-Type", "text/plain; charset=utf-8");
    reply.set("Location", location);
    reply.body = Body("Found. Redirecting to " + location);
  }
  reply.set("X-Repo-Commit", *commit);
  if (file->lfs) {
    reply.set("X-Linked-Etag", "\"" + file->etag + "\"");
    reply.set("X-Linked-Size", std::to_string(file->body.size()));
  }
  if (!file->xet_hash.empty()) {
    const std::string route = hub.endpoint + "/api/models/" + repository.id + "/xet-read-token/" + *commit;
    reply.set("X-Xet-Hash", file->xet_hash);
    reply.set("X-Xet-Refresh-Route", route.substr(hub.endpoint.size()));
    reply.set("Link", "<" + route + ">; rel=\"xet-auth\", <https://cas-server.invalid/v1/reconstructions/" +
                          file->xet_hash + ">; rel=\"xet-reconstruction-info\"");
  }
  return reply;
}

}  // namespace

void Reply::set(const std::string& name, const std::string& value) {
  const auto same = [&](const auto& header) {
    return std::equal(header.first.begin(), header.first.end(), name.begin(), name.end(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  };
  headers.erase(std::remove_if(headers.begin(), headers.end(), same), headers.end());
  if (!value.empty()) headers.emplace_back(name, value);
}

Reply hub_reply(const Hub& hub, const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") return refusal(405, "", "Method not allowed");
  const std::string path = request.path(), api = "/api/models/";
  if (path.compare(0, api.size(), api) == 0) {
    const std::string rest = path.substr(api.size());
    const auto revision = split_at(hub, rest, "revision");
    auto tree = split_at(hub, rest, "tree");
    if (tree && revision && !hub.repository(tree->id)) tree.reset();
    const std::string id = tree ? tree->id : revision ? revision->id : percent_decoded(rest);
    const Repository repository = hub.repository(id);
    if (auto reply = not_visible(repository, request)) return *reply;
    if (tree) return tree_reply(hub, request, *repository, tree->rest);
    return info_reply(*repository, revision ? percent_decoded(revision->rest) : "main",
                      !request.parameter("blobs").empty());
  }
  if (const auto file = split_at(hub, path.substr(std::min<std::size_t>(1, path.size())), "resolve")) {
    const Repository repository = hub.repository(file->id);
    if (auto reply = not_visible(repository, request)) return *reply;
    return resolve_reply(hub, *repository, file->rest);
  }
  return refusal(404, "", "Sorry, we can't find the page you are looking for.");
}

Reply cdn_reply(const Hub& hub, const HttpRequest& request) {
  if (!request.header("authorization").empty())
    return refusal(400, "", "Only one auth mechanism allowed: a signature in the query and a token");
  // /cdn/ORG/NAME/PATH or /cdn/NAME/PATH
  const std::string path = request.path(), start = "/cdn/";
  if (path.compare(0, start.size(), start) == 0) {
    const std::string rest = path.substr(start.size());
    for (std::size_t slash = rest.find('/'); slash != std::string::npos; slash = rest.find('/', slash + 1)) {
      const Repository repository = hub.repository(rest.substr(0, slash));
      const ServedFile* file = repository ? repository->find(percent_decoded(rest.substr(slash + 1))) : nullptr;
      if (!file) continue;
      if (request.query() != signed_query(repository->id, *file))
        return refusal(403, "", "SignatureDoesNotMatch: the query is not the one that was signed");
      return file_reply(*file);
    }
  }
  return refusal(404, "", "NoSuchKey");
}

}  // namespace tilewright::test
