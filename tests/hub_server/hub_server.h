// A hub on the loopback interface for tests: it speaks the real one's protocol, and misbehaves on demand.
//
// Written on sockets: an HTTP library would not send what these tests need to survive (short bodies, wrong lengths,
// slices with 200). A thread a connection; keep-alive; bodies from memory or made as they are sent.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::test {

struct HubFile {
  std::string path;
  std::string bytes;
  bool lfs = false;             // etag and oid are a SHA-256; else git's SHA-1
  std::uint64_t made_size = 0;  // instead of `bytes`: so many bytes of a fixed pattern that depends on the path
  std::string from_file = {};   // instead of `bytes`: sent from this file (for benchmarks)
  std::string etag = {};        // instead of the right one, also in listings (nothing is hashed then)
  std::string xet_hash = {};    // in listings, and with HEAD as the hub's headers for Xet
};

struct HubRepository {
  std::string id;  // "org/name"
  std::vector<HubFile> files;
  std::map<std::string, std::string> refs = {};  // branches and tags beside "main" → commit (of these same files)
  std::string commit = {};                       // empty: made from names and contents
  std::string token = {};                        // needed to see it; else 401, RepoNotFound
  bool gated = false;                            // 403, GatedRepo for bodies
};

// What to do with some requests instead of answering them well. Everything that is not set stays as it is.
struct Rule {
  // Which requests: method ("" any), part of the target as it was sent (query included), from the `skip`th on, `times`
  // of them. The first rule that fits and is not used up counts; only that one.
  std::string method = {}, target = {};
  int skip = 0, times = 1;  // times < 0: all

  std::optional<int> status = {};                                 // instead of 200 or 206
  std::vector<std::pair<std::string, std::string>> headers = {};  // added; an empty value takes the header away
  std::optional<std::string> body = {};           // instead of the right one; Content-Length fits unless set otherwise
  std::optional<std::uint64_t> drop_after = {};   // closes the connection (RST) after so many bytes of the body
  bool close_early = false;                       // … with an orderly end instead
  bool ignore_range = false;                      // 200 and everything
  bool slice_with_200 = false;                    // the range that was asked for, Content-Range too, but 200
  std::optional<std::uint64_t> shift_range = {};  // 206 of another place: so many bytes later
  bool gzip = false;                              // Content-Encoding: gzip, if asked or not; Range then ignored
  bool no_length = false;                         // no Content-Length, the end is the connection's
  bool chunked = false;
  std::optional<std::uint64_t> claim_length = {};  // Content-Length says so; the body stays
  std::optional<std::uint64_t> flip_byte = {};     // one byte of the body is wrong
  int drip_ms = 0;                                 // so long between pieces of 1 KiB
  int stall_ms = 0;                                // before the answer begins
  std::string redirect = {};              // Location; status 302 unless set. {path} and {query} are the request's
  std::function<void()> on_request = {};  // called first, by the connection's thread; not for stop()
};
// {"method": "GET", "target": "resolve", "status": 503, "headers": {"Retry-After": "1"} …}: keys are the members'
// names.
Rule rule_from_json(const std::string& text);

struct HubRequest {
  std::string method, target;                  // as sent: path and query
  std::map<std::string, std::string> headers;  // lower-case names
  std::uint64_t body_sent = 0;
  bool to_cdn = false;
  int status = 0;  // what was answered; 0 before
};

class HubServer {
 public:
  explicit HubServer(int port = 0);  // on 127.0.0.1; 0: any
  ~HubServer();
  HubServer(const HubServer&) = delete;
  HubServer& operator=(const HubServer&) = delete;

  std::string endpoint() const;  // "http://127.0.0.1:PORT"
  // Adds it, or puts it in another one's place. Returns its commit.
  std::string serve(HubRepository repository);
  void add_rule(Rule rule);
  void clear_rules();
  std::string cdn_endpoint() const;   // another port: "/cdn/org/name/PATH?SIGNED"
  std::atomic<int> page_size = 1000;  // entries a page of the tree listing
  // Bodies of LFS files by 302 to the second port with a signed query, as the real one does. What answers there wants
  // that query byte for byte (else 403) and no token (else 400).
  std::atomic<bool> cdn_for_lfs = false;

  std::vector<HubRequest> requests() const;  // so far
  std::size_t connections() const;           // that clients opened, so far, to either port
  std::uint64_t body_bytes_sent(const std::string& target_part) const;
  void forget_requests();
  void stop();  // refuses connections from now on

  // The right bytes and hashes of a file.
  static std::string bytes_of(const HubFile& file);
  static std::string etag_of(const HubFile& file);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::test
