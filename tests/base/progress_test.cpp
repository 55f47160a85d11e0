#include "base/progress.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tilewright {
namespace {

struct Screen {
  std::vector<std::string> written;
  double now = 0;
  int width = 80;

  Progress::Output output(Progress::Style style) {
    return {style, [this] { return width; }, [this](std::string_view text) { written.emplace_back(text); },
            [this] { return now; }};
  }
  std::string all() const {
    std::string out;
    for (const std::string& text : written) out += text;
    return out;
  }
};

constexpr std::string_view kErase = "\r\033[K";

int cells(const std::string& text) {
  int out = 0;
  for (std::size_t i = text.starts_with(kErase) ? kErase.size() : 0; i < text.size(); ++i)
    out += (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
  return out;
}

TEST(Progress, ABarNeverReachesTheLastColumnAndNeverHoldsALineBreak) {
  for (const int width : {1, 2, 10, 20, 33, 80, 100, 400}) {
    Screen screen;
    screen.width = width;
    Progress progress(screen.output(Progress::Style::bar));
    progress.begin("measure", 100);
    for (std::uint64_t i = 0; i <= 100; ++i) {
      screen.now += 1;
      progress.update(i, 100, "prefill 128, batch 1: über — round " + std::to_string(i));
    }
    ASSERT_EQ(screen.written.size(), 102u);
    for (const std::string& text : screen.written) {
      EXPECT_TRUE(text.starts_with(kErase));
      EXPECT_LT(cells(text), std::min(width, 100) + (width == 1)) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos);
    }
  }
}

TEST(Progress, ABarIsDrawnAtMostTenTimesASecond) {
  Screen screen;
  Progress progress(screen.output(Progress::Style::bar));
  progress.begin("load", 1000);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    screen.now += 0.001;
    progress.update(i, 1000);
  }
  EXPECT_LE(screen.written.size(), 12u);
  EXPECT_GE(screen.written.size(), 9u);
}

TEST(Progress, TellsWhatIsLeft) {
  Screen screen;
  Progress progress(screen.output(Progress::Style::bar));
  progress.begin("measure", 4);
  screen.now = 30;
  progress.update(1, 4, "round 1");
  EXPECT_NE(screen.written.back().find(" 25 %"), std::string::npos) << screen.written.back();
  EXPECT_NE(screen.written.back().find("30 s, about 1:30 left"), std::string::npos) << screen.written.back();
  EXPECT_TRUE(screen.written.back().ends_with("round 1"));
  screen.now = 120;
  progress.update(4, 4);
  EXPECT_EQ(screen.written.back().find("left"), std::string::npos);
}

TEST(Progress, WhatIsUnderWayComesBeforeALongBar) {
  Screen screen;
  Progress progress(screen.output(Progress::Style::bar));
  progress.begin("arms", 100);
  screen.now = 30;
  progress.update(50, 100, "decode 128 after 8, batch 1: 3/6");
  EXPECT_TRUE(screen.written.back().ends_with("3/6")) << screen.written.back();
  EXPECT_NE(screen.written.back().find("[###....]"), std::string::npos) << screen.written.back();
}

TEST(Progress, AnUnknownTotalHasNoShare) {
  Screen screen;
  Progress progress(screen.output(Progress::Style::bar));
  progress.begin("smoke");
  screen.now = 3;
  progress.update(0, 0, "golden");
  EXPECT_EQ(screen.written.back().find('%'), std::string::npos);
  EXPECT_NE(screen.written.back().find("3.0 s  golden"), std::string::npos);
}

TEST(Progress, WhatIsDoneLeavesOneLineAndNoBar) {
  Screen screen;
  {
    Progress progress(screen.output(Progress::Style::bar));
    progress.begin("smoke");
    screen.now = 2;
    progress.end("passed");
    ASSERT_EQ(screen.written.size(), 3u);
    EXPECT_EQ(screen.written[1], kErase);
    EXPECT_EQ(screen.written[2], "smoke: 2.0 s; passed\n");
    progress.begin("measure", 3);
    progress.note("a warning");
    EXPECT_EQ(screen.written[4], kErase);
    EXPECT_EQ(screen.written[5], "a warning\n");
    EXPECT_TRUE(screen.written[6].starts_with(std::string(kErase) + "measure"));
  }
  EXPECT_EQ(screen.written.back(), kErase);
}

TEST(Progress, LinesHaveNoControlCharactersAndAreFew) {
  Screen screen;
  {
    Progress progress(screen.output(Progress::Style::lines));
    progress.begin("measure", 1000);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      screen.now += 0.05;  // 50 s
      progress.update(i, 1000, "round");
    }
    progress.note("note");
    progress.hide();
    progress.end("4 arms");
  }
  const std::string text = screen.all();
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  EXPECT_LE(screen.written.size(), 7u) << text;
  EXPECT_TRUE(text.ends_with("measure: 50 s; 4 arms\n")) << text;
}

TEST(Progress, QuietWritesNothing) {
  Screen screen;
  Progress progress(screen.output(Progress::Style::off));
  progress.begin("measure", 3);
  screen.now = 100;
  progress.update(1, 3);
  progress.note("note");
  progress.end("done");
  progress.hide();
  EXPECT_TRUE(screen.written.empty());
}

TEST(Progress, ThreadsDoNotMixTheirLines) {
  Screen screen;
  Progress progress(screen.output(Progress::Style::bar));
  progress.begin("load", 1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&progress] {
      for (std::uint64_t i = 0; i < 1000; ++i) {
        progress.update(i, 1000, "shard");
        if (i % 100 == 0) progress.note("note");
      }
    });
  for (std::thread& thread : threads) thread.join();
  progress.end();
  for (const std::string& text : screen.written)
    EXPECT_TRUE(text == "note\n" || text.starts_with(kErase) || text.starts_with("load: ")) << text;
}

TEST(Progress, Durations) {
  EXPECT_EQ(duration_text(0.04), "0.0 s");
  EXPECT_EQ(duration_text(9.94), "9.9 s");
  EXPECT_EQ(duration_text(9.96), "10 s");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(3661), "1:01:01");
  EXPECT_EQ(duration_text(-1), "–");
}

}  // namespace
}  // namespace tilewright
