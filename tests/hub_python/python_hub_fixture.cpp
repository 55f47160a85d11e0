#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/mapped_file.h"
#include "hub_python/python_hub.h"

namespace tilewright::test {
namespace {

std::string python() {
  const char* named = std::getenv("TILEWRIGHT_PYTHON");
  return named ? named : "python3";
}

// Its exit code; what it prints goes to files.
int run_python(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
               const std::string& out, const std::string& err) {
  std::vector<std::string> words = {python()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    for (const char* name : {"HF_TOKEN", "HF_TOKEN_PATH", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE",
                             "HF_MODULES_CACHE", "XDG_CACHE_HOME", "HF_XET_CACHE", "http_proxy", "https_proxy",
                             "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})
      unsetenv(name);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string python_hub_missing() {
  static const std::string reason = [] {
    const int code = run_python({"-c", "import huggingface_hub.constants as c; c.HF_HUB_ETAG_TIMEOUT"}, {}, "/dev/null",
                                "/dev/null");
    if (code == 0) return std::string();
    return "not run: " + python() + (code == 127 ? " is not here" : " has no package huggingface_hub") +
           " (TILEWRIGHT_PYTHON names another one)";
  }();
  return reason;
}

PythonAnswers call_python_hub(const Json& calls, const std::string& endpoint, const std::filesystem::path& home,
                              const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> all = {{"HF_ENDPOINT", endpoint},
                                            {"HF_HOME", home / "hf"},
                                            {"HOME", home},
                                            {"HF_HUB_DISABLE_XET", "1"},
                                            {"HF_HUB_DISABLE_PROGRESS_BARS", "1"},
                                            {"HF_HUB_DISABLE_TELEMETRY", "1"},
                                            {"HF_HUB_DISABLE_UPDATE_CHECK", "1"},
                                            {"PYTHONDONTWRITEBYTECODE", "1"}};
  for (const auto& [name, value] : environment) all[name] = value;
  const std::string out = home / "python.out", err = home / "python.err";
  const int code = run_python({TILEWRIGHT_SOURCE_DIR "/tests/hub_python/hub_client.py", calls.dump()}, all, out, err);
  PythonAnswers answers;
  answers.log = read_text_file(err);
  EXPECT_EQ(code, 0) << answers.log;
  answers.answers = code == 0 ? parse_json(read_text_file(out), "hub_client.py") : Json::array();
  // A test that goes on after this would read beyond the end.
  while (answers.answers.size() < calls.size())
    answers.answers.push_back({{"error", "Python ended"}, {"message", answers.log}});
  return answers;
}

void PythonHub::SetUp() {
  if (const std::string missing = python_hub_missing(); !missing.empty()) GTEST_SKIP() << missing;
  std::string name = (std::filesystem::temp_directory_path() / "tilewright_python_XXXXXX").string();
  folder = mkdtemp(name.data());
}

void PythonHub::TearDown() {
  std::error_code ignored;
  if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
}

std::map<std::string, std::string> files_below(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  std::error_code ignored;
  for (auto at = std::filesystem::recursive_directory_iterator(folder, ignored);
       at != std::filesystem::recursive_directory_iterator(); ++at) {
    if (at->path().filename() == ".cache") at.disable_recursion_pending();
    if (at->is_regular_file())
      files[at->path().lexically_relative(folder).generic_string()] = read_text_file(at->path());
  }
  return files;
}

}  // namespace tilewright::test
