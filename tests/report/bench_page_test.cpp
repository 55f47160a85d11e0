#include "report/page/bench_page.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <regex>

#include "base/error.h"
#include "base/mapped_file.h"
#include "report/compare/comparison.h"
#include "report/envelope.h"
#include "report/page_cells.h"
#include "report/report_fixture.h"

namespace tilewright::report {
namespace {

using test::fixture_report;

// The tags of a page, in order, without their attributes.
std::string tags(const std::string& page) {
  std::string out;
  const std::regex tag("</?[a-zA-Z][a-zA-Z0-9]*");
  for (auto it = std::sregex_iterator(page.begin(), page.end(), tag); it != std::sregex_iterator(); ++it)
    out += it->str() + ">";
  return out;
}

TEST(BenchPage, NeedsNothingElse) {
  for (const std::string& page : {bench_page(fixture_report()), bench_page(test::port_report())}) {
    for (const char* part : {"http:", "https:", "src=", "url(", "@import", "<link", "<script", "<iframe", "<img"})
      EXPECT_EQ(page.find(part), std::string::npos) << part;
    EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
    EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
    EXPECT_NE(page.find("@media print"), std::string::npos);
  }
}

// Texts of a report are texts on the page, whatever they are: they add no tag and end no attribute.
TEST(BenchPage, EscapesEveryTextOfTheReport) {
  for (const Json& base : {fixture_report(), test::port_report()}) {
    const std::string plain = tags(bench_page(test::with_texts(base, "x")));
    for (const char* text : {"</title></style><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>",
                             "' onload='alert(1)", "&lt;b&gt;<b>", "]]><!--", "\x01\x02<\xff>"}) {
      const std::string page = bench_page(test::with_texts(base, text));
      EXPECT_EQ(tags(page), plain) << text;
      EXPECT_EQ(page.find("<script"), std::string::npos);
      EXPECT_EQ(std::count(page.begin(), page.end(), '\x01'), 0);
    }
  }
}

// Each cell that names a place in the report shows the number of that place.
TEST(BenchPage, TableCellsShowTheReportsNumbers) {
  for (const Json& report : {fixture_report(), test::port_report()}) {
    std::size_t compared = 0;
    for (const test::PageCell& cell : test::page_cells(bench_page(report)))
      compared += test::expect_cell_shows(cell, report);
    EXPECT_GT(compared, 300u);
  }
}

TEST(BenchPage, AWrongArmHasNoRatio) {
  Json report = fixture_report();
  for (Json& arm : report["result"]["cases"][1]["arms"])
    if (arm["name"] == "fused")
      arm["ratio"] = {{"against", "eager"}, {"value", 7.654},  {"low", 7.5},
                      {"high", 7.7},        {"claimed", true}, {"best_of", 7.654}};
  const std::string page = bench_page(report);
  EXPECT_EQ(page.find("7.654 ["), std::string::npos);
  EXPECT_EQ(page.find("\"/result/cases/1/arms/2/ratio"), std::string::npos);
  EXPECT_NE(page.find("wrong: no ratio"), std::string::npos);
}

TEST(BenchPage, NamesFailuresWithCodeCauseAndFix) {
  const std::string page = bench_page(fixture_report());
  for (const char* part : {"107027 ACL_ERROR_RT_STREAM_CAPTURED", "a stream was synchronised while it captures",
                           "move the call out of the captured part", "Incomplete: interrupted after round 4"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

ErrorText refused(const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    return error.text();
  }
  ADD_FAILURE() << "was written";
  return {};
}

TEST(WritingAReport, AFullDeviceIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  for (const auto& write : {std::function<void()>([] { write_report("/dev/full", {.kind = "bench"}); }),
                            std::function<void()>([] { write_page("/dev/full", std::string(1 << 20, 'x')); })}) {
    const ErrorText error = refused(write);
    EXPECT_EQ(error.what, "cannot write the file");
    EXPECT_EQ(error.fix, "free disk space");
  }
}

// On a disk that fills up while the file is written, the older file stays, and nothing is left beside it.
TEST(WritingAReport, AFullDiskLeavesTheOlderFile) {
  const std::filesystem::path folder = testing::TempDir() + "tilewright_full_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  if (mount("none", folder.c_str(), "tmpfs", 0, "size=64k") != 0) {
    std::filesystem::remove(folder);
    GTEST_SKIP() << "no file system may be mounted here";
  }
  struct Unmount {
    std::filesystem::path folder;
    ~Unmount() {
      umount2(folder.c_str(), MNT_DETACH);
      std::filesystem::remove(folder);
    }
  } unmount{folder};
  write_page(folder / "r", "older");
  const ErrorText error = refused([&] { write_page(folder / "r", std::string(1 << 20, 'x')); });
  EXPECT_EQ(error.fix, "free disk space");
  Report large{.kind = "bench"};
  large.result["text"] = std::string(1 << 20, 'x');
  EXPECT_EQ(refused([&] { write_report(folder / "r", large); }).fix, "free disk space");
  EXPECT_EQ(read_text_file(folder / "r"), "older");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

}  // namespace
}  // namespace tilewright::report
