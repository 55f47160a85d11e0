// `tilewright pull` as a user runs it, against a hub on this machine.
#include <pty.h>
#include <signal.h>

#include "base/terminal_screen.h"
#include "cli/hub_fixture.h"
#include "hub_server/hub_server.h"

namespace tilewright::test {
namespace {

constexpr const char* kToken = "hf_secretsecretsecret";

TEST(Pull, PrintsOneLineForTheShellAndNothingElse) {
  HubHome home;
  const std::string commit = home.server.serve(small_repository());
  const Outcome o = home.run({"pull", "org/small"});
  ASSERT_EQ(o.code, 0) << o.err;
  const std::string path = (home.scratch.path() / "hf/hub/models--org--small/snapshots" / commit).string();
  EXPECT_EQ(o.out, "export MODEL_PATH='" + path + "'\n");
  EXPECT_EQ(home.path_from(o.out), path);
  EXPECT_EQ(std::filesystem::file_size(path + "/model-00001-of-00002.safetensors"), 600000u);
  expect_plain_text(o.err);
  expect_columns(o.err, 100);
  EXPECT_TRUE(contains(o.err, "pull org/small: 1.000 MB in ")) << o.err;
  EXPECT_TRUE(contains(o.err, "4 files, 1.000 MB; 4 fetched, commit " + commit.substr(0, 7))) << o.err;

  home.server.forget_requests();
  const Outcome again = home.run({"pull", "org/small"});
  EXPECT_EQ(again.out, o.out);
  EXPECT_TRUE(contains(again.err, "all here before")) << again.err;
  EXPECT_EQ(home.server.body_bytes_sent("/resolve/"), 0u);
}

TEST(Pull, TheLineSurvivesEveryPath) {
  HubHome home;
  home.server.serve(small_repository());
  for (const char* name : {"plain", "with space", "it's", "$(touch x) `y` \"z\"", "line\nbreak", "-dash", "grüße 漢"}) {
    const std::filesystem::path folder = home.scratch.path() / "models" / name;
    const Outcome o =
        home.run({"pull", "org/small", "--output-dir", folder.string(), "--allow-pattern", "*.json", "--quiet"});
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.err, "");
    EXPECT_EQ(home.path_from(o.out), folder.string());
    EXPECT_TRUE(std::filesystem::exists(folder / "config.json"));
    EXPECT_FALSE(std::filesystem::exists(folder / "model-00001-of-00002.safetensors"));
  }
}

TEST(Pull, JsonSaysWhatIsHere) {
  HubHome home;
  const HubRepository repository = small_repository();
  const std::string commit = home.server.serve(repository);
  const Outcome o = home.run({"pull", "org/small", "--format", "json", "--ignore-pattern", "*-00002-*"});
  ASSERT_EQ(o.code, 0) << o.err;
  const Json json = parse_json(o.out, "stdout");
  EXPECT_EQ(json["id"], "org/small");
  EXPECT_EQ(json["revision"], "main");
  EXPECT_EQ(json["commit"], commit);
  EXPECT_TRUE(std::filesystem::is_directory(json["path"].get<std::string>()));
  ASSERT_EQ(json["files"].size(), 3u);
  EXPECT_EQ(json["files"][0]["path"], "config.json");
  EXPECT_EQ(json["files"][1]["size"], 600000);
  EXPECT_EQ(json["files"][1]["hash"], HubServer::etag_of(repository.files[1]));
  EXPECT_EQ(json["files"][1]["status"], "fetched");
  EXPECT_EQ(json["files"][1]["received"], 600000);
}

TEST(Pull, ADryRunListsAndWritesNothing) {
  HubHome home;
  HubRepository repository = small_repository();
  repository.files.push_back({.path = std::string(150, 'n') + "/" + std::string(90, 'm') + ".txt", .bytes = "x"});
  const std::string commit = home.server.serve(repository);
  const auto before = home.tree();
  Outcome o = home.run({"pull", "org/small", "--dry-run"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(home.tree(), before);
  EXPECT_FALSE(contains(o.out, "export")) << o.out;
  expect_columns(o.out, 100);
  EXPECT_TRUE(contains(o.out, "model-00001-of-00002.safetensors")) << o.out;
  EXPECT_TRUE(contains(o.out, "600.0 kB  to fetch")) << o.out;
  EXPECT_TRUE(contains(o.out, "5 files, 1.000 MB: 0 here (0 B), 5 to fetch (1.000 MB)")) << o.out;
  EXPECT_TRUE(contains(o.out, commit)) << o.out;
  EXPECT_EQ(home.server.body_bytes_sent("/resolve/"), 0u);

  ASSERT_EQ(home.run({"pull", "org/small", "--allow-pattern", "*00001*"}).code, 0);
  const auto filled = home.tree();
  o = home.run({"pull", "org/small", "--dry-run", "--format", "json"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(home.tree(), filled);
  for (const Json& file : parse_json(o.out, "stdout")["files"])
    EXPECT_EQ(file["status"], file["path"] == "model-00001-of-00002.safetensors" ? "present" : "to fetch") << file;
}

TEST(Pull, TheTokenIsNeverShown) {
  HubHome home;
  HubRepository repository = small_repository("org/private");
  repository.token = kToken;
  home.server.serve(repository);
  const std::vector<std::vector<std::string>> commands = {
      {"pull", "org/private", "--token", kToken},
      {"pull", "org/private", "--dry-run", "--format", "json", "--token", kToken},
      {"pull", "org/private", "--token", kToken, "--revision", "nowhere"},
      {"pull", "org/private", "--token", kToken, "--frobnicate"},
      {"pull", "org/private", "--tokne", kToken},
      {"pull", "org/private", "--token", std::string(kToken) + " x"},
      {"pull", "org/other", std::string("--token=") + kToken}};
  for (const auto& words : commands) {
    const Outcome o = home.run(words);
    EXPECT_FALSE(contains(o.out, "secret")) << o.out;
    EXPECT_FALSE(contains(o.err, "secret")) << o.err;
  }
  EXPECT_EQ(home.run(commands[0]).code, 0);
  EXPECT_EQ(home.run({"pull", "org/private", "--force"}, {{"HF_TOKEN", kToken}}).code, 0);
  const Outcome without = home.run({"pull", "org/private", "--force"});
  EXPECT_EQ(without.code, 1);
  EXPECT_TRUE(contains(without.err, "HF_TOKEN") || contains(without.err, "token")) << without.err;
  const Outcome wrong = home.run({"pull", "org/private", "--force"}, {{"HF_TOKEN", "hf_secretbutwrong"}});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_FALSE(contains(wrong.err, "secret")) << wrong.err;
}

TEST(Pull, WrongUsageIsOneHelpfulLine) {
  HubHome home;
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"pull"}, "ORG/NAME"},
      {{"pull", "./models/x"}, "local path"},
      {{"pull", "/models/x"}, "local path"},
      {{"pull", "a/b/c"}, "local path"},
      {{"pull", "https://huggingface.co/org/name"}, "address"},
      {{"pull", "org/na me"}, "Qwen/Qwen3-1.7B"},
      {{"pull", "org/na\x1b[31mme"}, "no repository"},
      {{"pull", "org/name@"}, "no repository"},
      {{"pull", "org/name", "--max-workers", "0"}, "--max-workers"},
      {{"pull", "org/name", "--allow-pattern", ""}, "--allow-pattern"},
      {{"pull", "org/name", "--output-dir", ""}, "--output-dir"},
      {{"pull", "org/name@a", "--revision", "b"}, "two revisions"},
      {{"pull", "org/name", "--alow-pattern", "x"}, "--allow-pattern"}};
  for (const auto& [words, part] : cases) {
    const Outcome o = home.run(words);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_TRUE(contains(o.err, part)) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    expect_plain_text(o.err);
  }
  EXPECT_TRUE(home.server.requests().empty());
}

TEST(Pull, ErrorsEndWithOneAndSayWhat) {
  HubHome home;
  home.server.serve(small_repository());
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"pull", "org/nothing"}, "org/nothing"},
      {{"pull", "org/small", "--revision", "nowhere"}, "nowhere"},
      {{"pull", "org/small", "--revision", "../x"}, "revision"},
      {{"pull", "org/small", "--allow-pattern", "*.gguf"}, "*.gguf"}};
  for (const auto& [words, part] : cases) {
    const Outcome o = home.run(words);
    EXPECT_EQ(o.code, 1) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_TRUE(contains(o.err, part)) << o.err;
  }
  home.server.add_rule({.target = "00001-of", .times = -1, .flip_byte = 100});
  const Outcome o = home.run({"pull", "org/small"});
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_TRUE(contains(o.err, "model-00001-of-00002.safetensors")) << o.err;
  home.server.clear_rules();
  EXPECT_EQ(home.run({"pull", "org/small"}).code, 0);
}

TEST(Pull, ForceFetchesAgainAndOneWorkerIsOneConnection) {
  HubHome home;
  home.server.serve(small_repository());
  EXPECT_EQ(home.run({"pull", "org/small"}).code, 0);
  home.server.forget_requests();
  const std::size_t before = home.server.connections();
  EXPECT_EQ(home.run({"pull", "org/small", "--force", "--max-workers", "1"}).code, 0);
  EXPECT_GE(home.server.body_bytes_sent("/resolve/"), 1'000'000u);
  EXPECT_EQ(home.server.connections() - before, 2u) << "one for the listing, one for the files";
}

TEST(Pull, RevisionsMayStandBehindTheName) {
  HubHome home;
  HubRepository repository = small_repository();
  const std::string commit = std::string(40, 'a');
  repository.refs = {{"v1", commit}};
  home.server.serve(repository);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"pull", "org/small@v1", "--dry-run"},
                                                {"pull", "org/small", "--revision", "v1", "--dry-run"}}) {
    const Outcome o = home.run(words);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_TRUE(contains(o.out, commit)) << o.out;
  }
}

TEST(Pull, ManySmallFilesTakeFewLines) {
  HubHome home;
  HubRepository repository{.id = "org/many"};
  for (int i = 0; i < 300; ++i)
    repository.files.push_back({.path = "f" + std::to_string(i), .bytes = std::to_string(i)});
  home.server.serve(repository);
  for (const char* term : {"dumb", "xterm"}) {
    const Outcome o = home.run({"pull", "org/many", "--output-dir", (home.scratch.path() / term).string()},
                               {{"TERM", term}, {"NO_COLOR", "1"}});
    ASSERT_EQ(o.code, 0) << o.err;
    expect_plain_text(o.err);
    EXPECT_LT(std::count(o.err.begin(), o.err.end(), '\n'), 100) << o.err;
    EXPECT_GE(std::count(o.err.begin(), o.err.end(), '\n'), 20) << o.err;
  }
  const Outcome off = home.run({"pull", "org/many"}, {{"HF_HUB_DISABLE_PROGRESS_BARS", "1"}});
  EXPECT_EQ(off.code, 0);
  EXPECT_EQ(off.err, "");
}

TEST(Pull, CtrlCKeepsWhatCame) {
  HubHome home;
  home.server.serve(small_repository());
  home.server.add_rule({.target = "/resolve/", .skip = 2, .times = 2, .drip_ms = 3});
  home.server.add_rule({.target = "00001-of", .times = 1, .drip_ms = 3});
  bool sent = false;
  RunOptions options;
  options.on_error = [&](pid_t child, const std::string&) {
    if (sent) return;
    sent = true;  // a small file came
    usleep(300000);
    kill(child, SIGINT);
  };
  const Outcome o = home.run({"pull", "org/small"}, {}, options);
  ASSERT_TRUE(sent);
  EXPECT_EQ(o.code, 130) << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_TRUE(o.err.ends_with("tilewright: interrupted; the same command goes on from what is here now\n")) << o.err;
  home.server.clear_rules();
  home.server.forget_requests();
  const Outcome again = home.run({"pull", "org/small"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_LT(home.server.body_bytes_sent("/resolve/"), 1000000u);
}

TEST(Pull, OfflineTakesWhatIsComplete) {
  HubHome home;
  home.server.serve(small_repository());
  const std::map<std::string, std::string> offline = {{"HF_HUB_OFFLINE", "1"}};
  const Outcome none = home.run({"pull", "org/small"}, offline);
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(home.server.requests().empty());
  ASSERT_EQ(home.run({"pull", "org/small", "--allow-pattern", "*.json"}).code, 0);
  home.server.forget_requests();
  const Outcome part = home.run({"pull", "org/small"}, offline);
  EXPECT_EQ(part.code, 1);
  EXPECT_EQ(part.out, "");
  EXPECT_TRUE(contains(part.err, "model-0000")) << part.err;
  const Outcome asked = home.run({"pull", "org/small", "--allow-pattern", "*.json"}, offline);
  EXPECT_EQ(asked.code, 0) << asked.err;
  EXPECT_TRUE(std::filesystem::exists(home.path_from(asked.out) + "/config.json"));
  EXPECT_TRUE(home.server.requests().empty());
}

TEST(Pull, AnUnreachableHubIsAWarningIfAllIsHere) {
  HubHome home;
  home.server.serve(small_repository());
  const Outcome first = home.run({"pull", "org/small"});
  ASSERT_EQ(first.code, 0) << first.err;
  home.server.stop();
  const Outcome o = home.run({"pull", "org/small", "--quiet"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, first.out);
  EXPECT_TRUE(contains(o.err, "warning")) << o.err;
  const Outcome other = home.run({"pull", "org/other"});
  EXPECT_EQ(other.code, 1);
  EXPECT_TRUE(contains(other.err, home.server.endpoint())) << other.err;
}

// Runs the program on a terminal of its own; stdout goes to a file.
struct OnPty {
  TerminalScreen screen;
  std::string all;
  int code = -1;

  OnPty(int width, int height) : screen(width, height) {}
  void run(const HubHome& home, const std::vector<std::string>& words, const std::string& stdout_path,
           const std::function<void(pid_t)>& on_output = {}) {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(screen.width());
    size.ws_row = static_cast<unsigned short>(screen.height());
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) {
      dup2(open(stdout_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
      for (const auto& [name, value] : home.environment()) setenv(name.c_str(), value.c_str(), 1);
      setenv("TERM", "xterm", 1);
      const std::string program = TILEWRIGHT_BINARY_DIR "/tilewright";
      std::vector<char*> argv{const_cast<char*>(program.c_str())};
      for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
      argv.push_back(nullptr);
      execv(program.c_str(), argv.data());
      _exit(127);
    }
    char buffer[4096];
    for (ssize_t n; (n = read(terminal, buffer, sizeof buffer)) > 0;) {
      all.append(buffer, static_cast<std::size_t>(n));
      if (on_output) on_output(child);
    }
    close(terminal);
    int status = 0;
    waitpid(child, &status, 0);
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    screen.write(all);
  }
};

TEST(Pull, BarsOnATerminalLeaveItClean) {
  for (const auto& [width, height] : {std::pair{100, 24}, {60, 10}, {30, 4}}) {
    HubHome home;
    home.server.serve(small_repository());
    home.server.add_rule({.target = ".safetensors", .times = -1, .drip_ms = 1});
    const std::string out = (home.scratch.path() / "out").string();
    OnPty run(width, height);
    run.run(home, {"pull", "org/small"}, out);
    EXPECT_EQ(run.code, 0) << run.all;
    EXPECT_TRUE(contains(run.all, width > 30 ? "[#" : " %")) << run.all;
    EXPECT_TRUE(contains(run.all, width > 30 ? "00001-of" : "model-000")) << run.all;
    EXPECT_FALSE(contains(run.all, "?25l")) << "the cursor is hidden";
    const std::vector<std::string> lines = run.screen.lines();
    ASSERT_EQ(lines.size(), 2u) << run.all;
    EXPECT_TRUE(lines[0].starts_with("pull org/small: 1.000 MB in ")) << lines[0];
    EXPECT_EQ(lines[1], "");
    EXPECT_EQ(run.screen.column(), 0);
    EXPECT_TRUE(read_text_file(out).starts_with("export MODEL_PATH='")) << read_text_file(out);
  }
}

TEST(Pull, CtrlCAndErrorsOnATerminalLeaveItClean) {
  HubHome home;
  home.server.serve(small_repository());
  home.server.add_rule({.target = ".safetensors", .times = -1, .drip_ms = 5});
  const std::string out = (home.scratch.path() / "out").string();
  OnPty run(80, 24);
  bool sent = false;
  run.run(home, {"pull", "org/small"}, out, [&](pid_t child) {
    if (!sent && contains(run.all, "00001-of")) sent = kill(child, SIGINT) == 0;
  });
  EXPECT_EQ(run.code, 130);
  EXPECT_EQ(run.screen.lines(),
            (std::vector<std::string>{"tilewright: interrupted; the same command goes on from what is here now", ""}));
  home.server.clear_rules();
  home.server.add_rule({.target = "00001-of", .times = -1, .flip_byte = 599999, .drip_ms = 1});
  OnPty wrong(100, 24);
  wrong.run(home, {"pull", "org/small", "--output-dir", (home.scratch.path() / "m").string()}, out);
  EXPECT_EQ(wrong.code, 1);
  for (const std::string& line : wrong.screen.lines()) EXPECT_FALSE(contains(line, "[#")) << line;
  EXPECT_TRUE(wrong.screen.lines().front().starts_with("tilewright: ")) << wrong.all;
}

TEST(Pull, OtherCommandsFindWhatWasPulled) {
  HubHome home;
  home.server.serve(bard_repository());
  const std::vector<std::string> ask = {"ask", "org/bard",  "--prompt", "To be", "--max-new-tokens",
                                        "2",   "--threads", "1"};
  const Outcome before = home.run(ask);
  EXPECT_EQ(before.code, 1);
  EXPECT_TRUE(contains(before.err, "eval \"$(tilewright pull org/bard)\"")) << before.err;
  EXPECT_TRUE(home.server.requests().empty());
  const Outcome pulled = home.run({"pull", "org/bard"});
  ASSERT_EQ(pulled.code, 0) << pulled.err;
  home.server.forget_requests();
  const std::string golden = kBardModel + "/golden.safetensors";
  const std::vector<std::vector<std::string>> commands = {
      ask, {"check", "org/bard", "--golden", golden, "--threads", "1"}, {"tokenize", "org/bard"}};
  for (const auto& words : commands) {
    const Outcome o = home.run(words, {}, {.input = "To be"});
    EXPECT_EQ(o.code, 0) << words[0] << o.err;
    EXPECT_NE(o.out, "") << words[0];
  }
  const Outcome by_variable = home.run({"tokenize"}, {{"MODEL_PATH", home.path_from(pulled.out)}}, {.input = "To be"});
  EXPECT_EQ(by_variable.code, 0) << by_variable.err;
  const Outcome bench = home.run(quick("bench", "org/bard", {"--skip", "smoke,limits", "--format", "json"}));
  EXPECT_EQ(bench.code, 0) << bench.err;
  EXPECT_EQ(parse_json(bench.out, "stdout")["result"]["model"]["name"], "bard");
  EXPECT_TRUE(home.server.requests().empty());  // only pull and port use the network
}

}  // namespace
}  // namespace tilewright::test
