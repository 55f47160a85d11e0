// Pages opened in a headless Chromium, as wide as a desktop's window and as a phone: nothing on the console, charts
// drawn, the numbers of the report in the tables. Not run where there is no Chromium; $TILEWRIGHT_BROWSER names one
// elsewhere.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/mapped_file.h"
#include "report/compare/comparison.h"
#include "report/page/bench_page.h"
#include "report/page_cells.h"
#include "report/report_fixture.h"

namespace tilewright::report {
namespace {

std::string browser() {
  if (const char* named = std::getenv("TILEWRIGHT_BROWSER")) return named;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    for (const char* name : {"chromium", "chromium-browser", "google-chrome", "chrome"})
      if (::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return {};
}

class Folder {
 public:
  Folder() {
    std::string name = testing::TempDir() + "tilewright_browser_XXXXXX";
    if (!mkdtemp(name.data())) std::abort();
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Seen {
  bool ended = false;
  std::string dom, log;
};

Seen open_page(const std::filesystem::path& page, const Folder& folder, std::vector<std::string> more) {
  const std::string out = folder.path() / "out", err = folder.path() / "err";
  std::vector<std::string> words = {browser(),
                                    "--headless",
                                    "--no-sandbox",
                                    "--disable-gpu",
                                    "--disable-dev-shm-usage",
                                    "--hide-scrollbars",
                                    "--no-first-run",
                                    "--disable-extensions",
                                    "--disable-background-networking",
                                    "--enable-logging=stderr",
                                    "--user-data-dir=" + (folder.path() / "profile").string()};
  words.insert(words.end(), more.begin(), more.end());
  words.push_back("file://" + page.string());
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  Seen seen;
  for (int i = 0; i < 1200 && !seen.ended; ++i) {  // a minute
    seen.ended = waitpid(child, &status, WNOHANG) == child;
    if (!seen.ended) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (!seen.ended) {
    kill(-child, SIGKILL);
    waitpid(child, &status, 0);
  }
  seen.dom = read_text_file(out);
  seen.log = read_text_file(err);
  return seen;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

// The page as it is, in two frames; a script outside of them looks at what was laid out.
std::string looked_at(const std::string& page) {
  const std::string quoted = replaced(replaced(page, "&", "&amp;"), "\"", "&quot;");
  std::string out = "<!DOCTYPE html><meta charset=\"utf-8\"><body>";
  for (const char* width : {"1200", "390"})
    out += "<iframe style=\"border:0\" width=\"" + std::string(width) + "\" height=\"900\" srcdoc=\"" + quoted +
           "\"></iframe>";
  const std::string script =
      read_text_file(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "tests/report/look_at_page.js");
  return out + "<pre id=\"found\"></pre><script>" + script + "</script></body>";
}

struct Looked {
  Json found;
  std::string console;
};

Looked look_at(const std::string& page) {
  const Folder folder;
  const std::filesystem::path file = folder.path() / "page.html";
  write_page(file, looked_at(page));
  const Seen seen = open_page(file, folder, {"--virtual-time-budget=10000", "--dump-dom"});
  EXPECT_TRUE(seen.ended) << "the browser did not end";
  Looked out;
  for (const std::string& line : test::lines_of(seen.log))
    if (line.find("CONSOLE") != line.npos) out.console += line + "\n";
  const std::string open = "<pre id=\"found\">";
  const std::size_t begin = seen.dom.find(open), end = seen.dom.find("</pre>", begin);
  if (begin == seen.dom.npos || end == seen.dom.npos) {
    ADD_FAILURE() << "the page was not laid out\n" << seen.log.substr(0, 4000);
    return out;
  }
  std::string text = seen.dom.substr(begin + open.size(), end - begin - open.size());
  text = replaced(replaced(replaced(text, "&lt;", "<"), "&gt;", ">"), "&nbsp;", "\u00a0");
  out.found = Json::parse(replaced(text, "&amp;", "&"));
  return out;
}

class PageInBrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (browser().empty()) GTEST_SKIP() << "no Chromium here (Debian: apt-get install chromium)";
  }
};

TEST_F(PageInBrowser, DrawsItsChartsAndShowsTheReportsNumbers) {
  const Json report = test::fixture_report();
  const Looked looked = look_at(bench_page(report));
  EXPECT_EQ(looked.console, "");
  ASSERT_EQ(looked.found.size(), 2u);
  for (const Json& page : looked.found) {
    EXPECT_EQ(page["bad"], Json::array());
    EXPECT_LE(page["needed"], page["width"]) << "the page scrolls sideways";
    EXPECT_GE(page["charts"], 3 * 4);  // ratios, split, operators, memory of each case, and the timelines
    EXPECT_GT(page["bars"], 150);
    EXPECT_GE(page["whiskers"], 3 * 3);
    std::size_t compared = 0;
    for (const Json& cell : page["cells"]) compared += test::expect_cell_shows({cell[0], cell[1]}, report);
    EXPECT_GT(compared, 300u);
  }
  EXPECT_EQ(looked.found[0]["width"], 1200);
  EXPECT_EQ(looked.found[1]["width"], 390);
}

TEST_F(PageInBrowser, RunsNothingThatAReportSmugglesIn) {
  for (const char* text :
       {"</title></style><script>console.error('ran')</script>", "\"><img src=x onerror=console.error('ran')>",
        "verylongwordverylongwordverylongwordverylongwordverylongwordverylongwordverylongword"}) {
    const Looked looked = look_at(bench_page(test::with_texts(test::port_report(), text)));
    EXPECT_EQ(looked.console, "");
    for (const Json& page : looked.found) EXPECT_LE(page["needed"], page["width"]) << text;
  }
}

TEST_F(PageInBrowser, ComparesTwoRuns) {
  const BenchReport a = bench_report(test::fixture_report()), b = bench_report(test::port_report());
  const Looked looked = look_at(comparison_page({"a.json", a}, {"b.json", b}));
  EXPECT_EQ(looked.console, "");
  for (const Json& page : looked.found) {
    EXPECT_EQ(page["bad"], Json::array());
    EXPECT_LE(page["needed"], page["width"]);
    EXPECT_GT(page["bars"], 4);
  }
}

TEST_F(PageInBrowser, PrintsOnPaper) {
  const Folder folder;
  write_page(folder.path() / "page.html", bench_page(test::fixture_report()));
  const std::string paper = folder.path() / "page.pdf";
  EXPECT_TRUE(open_page(folder.path() / "page.html", folder, {"--print-to-pdf=" + paper}).ended);
  EXPECT_TRUE(read_text_file(paper).starts_with("%PDF"));
}

// What the tests above rest on: a page with these faults is found out.
TEST_F(PageInBrowser, TheLookFindsFaults) {
  const Looked looked = look_at(
      "<!DOCTYPE html><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\"><script>x</script>"
      "<div style=\"width:3000px\">wide</div><table><tr><td data-json=\"/version\">2</td></tr></table>"
      "<svg class=\"chart\" width=\"300\" height=\"40\"><rect x=\"0\" y=\"0\" width=\"0\" height=\"10\"/></svg>");
  EXPECT_NE(looked.console, "");
  ASSERT_EQ(looked.found.size(), 2u);
  EXPECT_GE(looked.found[0]["bad"].size(), 2u) << looked.found;
  EXPECT_EQ(looked.found[0]["cells"], Json::parse(R"([["/version", "2"]])"));
}

}  // namespace
}  // namespace tilewright::report
