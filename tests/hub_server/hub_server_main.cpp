// hub_server [FOLDER] [--made ORG/NAME:8x256MiB] [--tree ORG/NAME:40000] [--page-size N] [--cdn-for-lfs] [--rules FILE]
//            [--port N]
//
// Serves FOLDER/ORG/NAME/… and what is made. The first line of its output is its endpoint. Ends when its standard
// input, if that is a pipe, closes, or on SIGTERM or SIGINT. FILE holds a JSON list of rules (hub_server.h).
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "hub_server/made_repositories.h"

namespace {

int run(int count, char** words) {
  using namespace tilewright;
  std::vector<test::HubRepository> repositories;
  std::vector<test::Rule> rules;
  int page_size = 1000, port = 0;
  bool cdn = false;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&]() -> std::string {
      if (i + 1 < count) return words[++i];
      fail({.what = word + " needs a value", .where = "hub_server", .expected = {}, .found = {}, .fix = {}});
    };
    if (word == "--made")
      repositories.push_back(test::made_repository(value()));
    else if (word == "--tree")
      repositories.push_back(test::made_tree(value()));
    else if (word == "--page-size")
      page_size = std::stoi(value());
    else if (word == "--port")
      port = std::stoi(value());
    else if (word == "--cdn-for-lfs")
      cdn = true;
    else if (word == "--rules")
      for (const Json& rule : read_json_file(value())) rules.push_back(test::rule_from_json(rule.dump()));
    else if (word.rfind("--", 0) == 0)
      fail({.what = "unknown option", .where = "hub_server", .expected = {}, .found = word, .fix = {}});
    else
      for (auto& repository : test::repositories_in(word)) repositories.push_back(std::move(repository));
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before there are threads
  const int signal = signalfd(-1, &signals, SFD_CLOEXEC);

  test::HubServer server(port);
  server.page_size = page_size;
  server.cdn_for_lfs = cdn;
  for (auto& repository : repositories) server.serve(std::move(repository));
  for (auto& rule : rules) server.add_rule(std::move(rule));
  std::printf("%s\n", server.endpoint().c_str());
  std::fflush(stdout);

  struct stat input = {};
  const bool watched = fstat(STDIN_FILENO, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode));
  pollfd ends[] = {{signal, POLLIN, 0}, {watched ? STDIN_FILENO : -1, POLLIN, 0}};
  while (true) {
    if (poll(ends, 2, -1) < 0) continue;
    char rest[256];
    if (ends[0].revents != 0 || (ends[1].revents != 0 && read(STDIN_FILENO, rest, sizeof rest) <= 0)) break;
  }
  close(signal);
  server.stop();
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hub_server: %s\n", error.what());
    return 1;
  }
}
