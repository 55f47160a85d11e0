#include "hub_server/hub_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "hub_server/hub_answer.h"

namespace tilewright::test {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

struct Listener {
  int socket = -1, port = 0;

  explicit Listener(int wanted) {
    socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address = loopback(wanted);
    socklen_t length = sizeof address;
    if (socket < 0 || bind(socket, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(socket, 128) != 0 ||
        getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0)
      throw std::runtime_error("cannot listen on port " + std::to_string(wanted) + " of 127.0.0.1");
    port = ntohs(address.sin_port);
  }
};

struct CountedRule {
  Rule rule;
  int fitted = 0, used = 0;
};

struct Connection {
  int socket = -1;
  bool done = false;
  std::thread thread;
};

}  // namespace

struct HubServer::State {
  HubServer& server;
  Listener hub, cdn;
  mutable std::mutex mutex;
  std::condition_variable stops;
  bool stopping = false;
  std::map<std::string, std::shared_ptr<const ServedRepository>> repositories;
  std::list<CountedRule> rules;
  std::vector<std::shared_ptr<HubRequest>> requests;
  std::uint64_t request_count = 0;
  std::size_t connection_count = 0;
  std::list<Connection> connections;
  std::thread hub_thread, cdn_thread;

  State(HubServer& owner, int port) : server(owner), hub(port), cdn(0) {}

  static std::string url_of(const Listener& listener) { return "http://127.0.0.1:" + std::to_string(listener.port); }

  void accept_on(const Listener& listener, bool to_cdn) {
    while (true) {
      const int socket = accept4(listener.socket, nullptr, nullptr, SOCK_CLOEXEC);
      const int problem = errno;
      std::lock_guard lock(mutex);
      if (stopping || (socket < 0 && problem != EINTR && problem != ECONNABORTED)) {
        if (socket >= 0) close(socket);
        return;
      }
      if (socket < 0) continue;
      const int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      for (auto old = connections.begin(); old != connections.end();) {
        if (old->done) old->thread.join();
        old = old->done ? connections.erase(old) : std::next(old);
      }
      Connection& connection = connections.emplace_back();
      connection.socket = socket;
      ++connection_count;
      connection.thread = std::thread([this, &connection, to_cdn] { serve(connection, to_cdn); });
    }
  }

  void serve(Connection& connection, bool to_cdn) {
    HttpConnection http(connection.socket);
    while (const auto request = http.read())
      if (!answer(http, *request, to_cdn)) break;
    http.finish();
    std::lock_guard lock(mutex);
    close(connection.socket);
    connection.socket = -1;
    connection.done = true;
  }

  bool answer(HttpConnection& http, const HttpRequest& request, bool to_cdn) {
    auto record = std::make_shared<HubRequest>();
    record->method = request.method, record->target = request.target, record->headers = request.headers;
    record->to_cdn = to_cdn;
    std::uint64_t number = 0;
    {
      std::lock_guard lock(mutex);
      requests.push_back(record);
      number = ++request_count;
    }
    const Rule rule = rule_for(request);
    if (rule.on_request) rule.on_request();
    Hub world;
    world.repository = [this](const std::string& id) {
      std::lock_guard lock(mutex);
      const auto found = repositories.find(id);
      return found == repositories.end() ? nullptr : found->second;
    };
    world.endpoint = url_of(hub), world.cdn = url_of(cdn);
    world.page_size = server.page_size, world.cdn_for_lfs = server.cdn_for_lfs;
    Reply reply = to_cdn ? cdn_reply(world, request) : hub_reply(world, request);
    reply.set("x-request-id", "Root=1-test-" + std::to_string(number));
    AnswerHooks hooks;
    hooks.wait = [this](int milliseconds) {
      std::unique_lock lock(mutex);
      return !stops.wait_for(lock, std::chrono::milliseconds(milliseconds), [this] { return stopping; });
    };
    hooks.began = [&](int status) {
      std::lock_guard lock(mutex);
      record->status = status;
    };
    hooks.sent = [&](std::uint64_t bytes) {
      std::lock_guard lock(mutex);
      record->body_sent += bytes;
    };
    return send_answer(http, request, std::move(reply), rule, hooks);
  }

  Rule rule_for(const HttpRequest& request) {
    std::lock_guard lock(mutex);
    for (CountedRule& counted : rules) {
      const Rule& rule = counted.rule;
      if (!rule.method.empty() && rule.method != request.method) continue;
      if (request.target.find(rule.target) == std::string::npos) continue;
      if (rule.times >= 0 && counted.used >= rule.times) continue;
      if (counted.fitted++ < rule.skip) continue;
      ++counted.used;
      return rule;
    }
    return {};
  }

  void stop() {
    {
      std::lock_guard lock(mutex);
      if (stopping) return;
      stopping = true;
      for (const Connection& connection : connections)
        if (connection.socket >= 0) shutdown(connection.socket, SHUT_RDWR);
    }
    stops.notify_all();
    shutdown(hub.socket, SHUT_RDWR);
    shutdown(cdn.socket, SHUT_RDWR);
    hub_thread.join();
    cdn_thread.join();
    close(hub.socket);
    close(cdn.socket);
    for (Connection& connection : connections) connection.thread.join();  // nobody adds to them now
    connections.clear();
  }
};

HubServer::HubServer(int port) : state_(std::make_unique<State>(*this, port)) {
  state_->hub_thread = std::thread([this] { state_->accept_on(state_->hub, false); });
  state_->cdn_thread = std::thread([this] { state_->accept_on(state_->cdn, true); });
}

HubServer::~HubServer() { stop(); }

std::string HubServer::endpoint() const { return State::url_of(state_->hub); }

std::string HubServer::cdn_endpoint() const { return State::url_of(state_->cdn); }

std::string HubServer::serve(HubRepository repository) {
  const auto served = std::make_shared<const ServedRepository>(std::move(repository));
  std::lock_guard lock(state_->mutex);
  state_->repositories[served->id] = served;
  return served->commit;
}

void HubServer::add_rule(Rule rule) {
  std::lock_guard lock(state_->mutex);
  state_->rules.push_back({std::move(rule)});
}

void HubServer::clear_rules() {
  std::lock_guard lock(state_->mutex);
  state_->rules.clear();
}

std::vector<HubRequest> HubServer::requests() const {
  std::lock_guard lock(state_->mutex);
  std::vector<HubRequest> copies;
  for (const auto& request : state_->requests) copies.push_back(*request);
  return copies;
}

std::size_t HubServer::connections() const {
  std::lock_guard lock(state_->mutex);
  return state_->connection_count;
}

std::uint64_t HubServer::body_bytes_sent(const std::string& target_part) const {
  std::lock_guard lock(state_->mutex);
  std::uint64_t sum = 0;
  for (const auto& request : state_->requests)
    if (request->target.find(target_part) != std::string::npos) sum += request->body_sent;
  return sum;
}

void HubServer::forget_requests() {
  std::lock_guard lock(state_->mutex);
  state_->requests.clear();
}

void HubServer::stop() { state_->stop(); }

}  // namespace tilewright::test
