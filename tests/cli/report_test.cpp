// `tilewright report` as a user runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/mapped_file.h"
#include "cli/run_program.h"

namespace tilewright::test {
namespace {

const std::string kReport = TILEWRIGHT_SOURCE_DIR "/tests/report/fixtures/bench.json";

class ReportCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tilewright_report_XXXXXX";
    ASSERT_TRUE(mkdtemp(name.data()));
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }

 private:
  std::filesystem::path folder_;
};

void expect_error(const std::vector<std::string>& arguments, const std::string& part) {
  const Outcome o = run_program(arguments);
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_LE(std::count(o.err.begin(), o.err.end(), '\n'), 4) << o.err;
  EXPECT_NE(o.err.find(part), std::string::npos) << "wanted: " << part << "\ngot: " << o.err;
}

TEST_F(ReportCommand, PrintsTablesWithoutColoursIntoAPipe) {
  const Outcome o = run_program({"report", kReport}, {.environment = {{"TERM", "xterm"}}});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  EXPECT_NE(o.out.find("fused+graph"), std::string::npos);
  EXPECT_EQ(o.out.find('\x1b'), std::string::npos);
}

TEST_F(ReportCommand, WritesAPageToo) {
  EXPECT_EQ(run_program({"report", kReport, "--html", file("r.html")}).code, 0);
  EXPECT_TRUE(read_text_file(file("r.html")).starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(run_program({"report", kReport, kReport, "--html", file("c.html")}).code, 0);
  EXPECT_NE(read_text_file(file("c.html")).find("Two runs side by side"), std::string::npos);
}

TEST_F(ReportCommand, PutsTwoRunsSideBySide) {
  const Outcome o = run_program({"report", kReport, kReport});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("B / A"), std::string::npos);
}

TEST_F(ReportCommand, RefusesWhatIsNoReport) {
  const std::string whole = read_text_file(kReport);
  expect_error({"report", file("none.json")}, "cannot open the file");
  expect_error({"report", written("cut.json", whole.substr(0, whole.size() / 2))}, "check that the file is whole");
  expect_error({"report", written("empty.json", "")}, "not valid JSON");
  expect_error({"report", written("list.json", "[1, 2]")}, "not a report of this program");
  Json other = Json::parse(whole);
  other["version"] = 99;
  expect_error({"report", written("version.json", other.dump())}, "version 99");
  expect_error({"report", kReport, file("version.json")}, "version 99");
  other = Json::parse(whole);
  other["kind"] = "limits";
  expect_error({"report", written("kind.json", other.dump())}, "a report of another kind");
}

TEST_F(ReportCommand, KeepsWhatItCouldDestroy) {
  const std::string copy = written("r.json", read_text_file(kReport));
  expect_error({"report", copy, "--html", copy}, "the page would replace the report");
  expect_error({"report", kReport, copy, "--html",
                file("../") + std::filesystem::path(copy).parent_path().filename().string() + "/r.json"},
               "the page would replace the report");
  EXPECT_EQ(read_text_file(copy), read_text_file(kReport));
  const Outcome o = run_program({"report", kReport, "--html", file("no/folder.html")});
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.err.find("cannot write the file"), std::string::npos) << o.err;
  EXPECT_EQ(run_program({"report", kReport, "--html", "/dev/full"}).code, 1);
}

TEST_F(ReportCommand, WrongUsageIsExitCode2) {
  EXPECT_EQ(run_program({"report"}).code, 2);
  EXPECT_EQ(run_program({"report", kReport, kReport, kReport}).code, 2);
  EXPECT_EQ(run_program({"report", kReport, "--htm", "x"}).code, 2);
}

// Every report says which sources its program was built from.
TEST_F(ReportCommand, ReportsNameTheCommitOfTheirProgram) {
  const Outcome o = run_program({"kernels", "--report-file", file("k.json")});
  ASSERT_EQ(o.code, 0) << o.err;
  const std::string commit = read_json_file(file("k.json"))["tool"]["commit"];
  if (!std::filesystem::exists(TILEWRIGHT_SOURCE_DIR "/.git")) GTEST_SKIP() << "no repository here";
  EXPECT_GE(commit.size(), 7u);
}

}  // namespace
}  // namespace tilewright::test
