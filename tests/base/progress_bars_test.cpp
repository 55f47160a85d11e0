#include "base/progress_bars.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "base/terminal_screen.h"
#include "base/terminal_text.h"

namespace tilewright {
namespace {

struct OnTerminal {
  test::TerminalScreen terminal;
  double now = 0;
  std::size_t writes = 0;
  std::string all = {};
  std::optional<ProgressBars> bars;

  OnTerminal(Progress::Style style, int width, int height) : terminal(width, height) {
    const auto write = [this](std::string_view text) {
      terminal.write(text);
      all += text;
      ++writes;
    };
    bars.emplace(Progress::Output{style, [this] { return terminal.width(); }, write, [this] { return now; }},
                 [this] { return terminal.height(); });
  }
  std::string screen() const {
    std::string out;
    for (const std::string& line : terminal.lines()) out += line + "\n";
    return out;
  }
};

TEST(ProgressBars, TheTotalKeepsWhatIsFinished) {
  OnTerminal run(Progress::Style::bar, 80, 10);
  run.bars->begin("pull org/name", 2000, 2);
  run.bars->update("a", 1000, 1000);
  run.bars->finish("a");
  run.now = 1;
  run.bars->update("b", 500, 1000);
  const std::string screen = run.screen();
  const std::size_t total = screen.find("1 of 2 files");
  ASSERT_NE(total, std::string::npos) << screen;
  EXPECT_NE(screen.find(" 75 %", total), std::string::npos) << screen;
}

std::string shard(int i) { return "model-000" + std::to_string(10 + i) + "-of-00099.safetensors"; }

TEST(ProgressBars, RowsFitAndNothingIsLeftOfThem) {
  for (const int width : {2, 10, 33, 60, 80, 100, 200})
    for (const int height : {1, 2, 3, 4, 10, 50}) {
      OnTerminal run(Progress::Style::bar, width, height);
      run.bars->begin("pull org/name", 1000 * 20, 20);
      std::vector<std::string> stays;
      std::mt19937 random(1);
      for (int step = 0; step < 400; ++step) {
        run.now += 0.06;
        const int item = step / 40;
        for (int i = item; i < item + 8; ++i)
          run.bars->update(shard(i),
                           std::min<std::uint64_t>(1000, 3u * static_cast<unsigned>(step % 40) + random() % 50), 1000);
        if (step % 40 == 39) run.bars->finish(shard(item));
        if (step % 50 == 49) {
          run.bars->note("note " + std::to_string(step));
          stays.push_back("note " + std::to_string(step));
        }
        const std::vector<std::string> lines = run.terminal.lines();
        ASSERT_GE(lines.size(), stays.size() + 1);
        for (std::size_t i = 0; i < stays.size(); ++i) ASSERT_EQ(lines[i], stays[i]) << width << " " << height;
        ASSERT_LT(lines.size() - stays.size() - 1, static_cast<std::size_t>(height));
        for (std::size_t i = stays.size(); i < lines.size(); ++i)
          ASSERT_LT(lines[i].size(), static_cast<std::size_t>(std::min(width, 100))) << lines[i];
        ASSERT_EQ(run.terminal.column(), 0);
      }
      run.bars->end("done");
      const std::vector<std::string> lines = run.terminal.lines();
      ASSERT_EQ(lines.size(), stays.size() + 2) << run.screen();
      EXPECT_TRUE(lines[stays.size()].starts_with("pull org/name: ")) << run.screen();
      EXPECT_TRUE(lines[stays.size()].ends_with("; done")) << run.screen();
    }
}

TEST(ProgressBars, EndInTheMiddleLeavesACleanScreen) {
  OnTerminal run(Progress::Style::bar, 80, 24);
  run.bars->begin("pull", 100, 2);
  run.bars->update("a", 10, 50);
  run.bars->note("a warning");
  EXPECT_GE(run.terminal.lines().size(), 4u);
  run.bars.reset();
  EXPECT_EQ(run.terminal.lines(), (std::vector<std::string>{"a warning", ""}));
  EXPECT_EQ(run.terminal.column(), 0);
}

TEST(ProgressBars, AnotherSizeOfTheTerminalLeavesNoRemains) {
  OnTerminal run(Progress::Style::bar, 100, 20);
  run.bars->begin("pull", 8000, 8);
  run.bars->note("above");
  std::mt19937 random(2);
  for (int step = 0; step < 300; ++step) {
    run.now += 0.2;
    for (int i = 0; i < 5; ++i) run.bars->update(shard(i), static_cast<std::uint64_t>(step), 1000);
    ASSERT_EQ(run.terminal.lines().front(), "above") << run.screen();
    ASSERT_LE(run.terminal.lines().size(), 8u) << run.screen();
    run.terminal.resize(20 + static_cast<int>(random() % 90), 60);
  }
}

TEST(ProgressBars, ABarSaysHowFarAndHowFast) {
  OnTerminal run(Progress::Style::bar, 100, 24);
  run.bars->begin("pull", 4000000, 2);
  run.bars->update(shard(1), 1000000, 2000000);  // an earlier run left this: no speed of ours
  for (int i = 1; i <= 8; ++i) {
    run.now += 1;
    run.bars->update(shard(1), 1000000 + static_cast<std::uint64_t>(i) * 50000, 2000000);
  }
  std::string screen = run.screen();
  EXPECT_NE(screen.find(shard(1) + "  ["), std::string::npos) << screen;
  EXPECT_NE(screen.find("70 %  of 2.000 MB  50.00 kB/s"), std::string::npos) << screen;
  EXPECT_NE(screen.find("0 of 2 files"), std::string::npos) << screen;
  EXPECT_NE(screen.find("35 %  of 4.000 MB  50.00 kB/s  about 52 s left"), std::string::npos) << screen;
  run.now += 1;
  run.bars->update(shard(1), 0, 2000000);  // starts afresh
  EXPECT_NE(run.screen().find("  0 %  of 2.000 MB"), std::string::npos) << run.screen();
  run.bars->update(shard(1), 2000000, 2000000);
  run.bars->finish(shard(1));
  run.bars->end();
  EXPECT_EQ(run.screen(), "pull: 2.400 MB in 9.0 s, 266.7 kB/s\n\n");
}

TEST(ProgressBars, LongNamesAreShortenedInTheMiddle) {
  OnTerminal run(Progress::Style::bar, 60, 24);
  run.bars->begin("pull", 100, 2);
  run.bars->update("onnx/variants/decoder_model_merged_quantized_with_past_fp16_00.onnx", 10, 50);
  run.now = 1;
  run.bars->update("onnx/variants/decoder_model_merged_quantized_with_past_fp16_01.onnx", 10, 50);
  EXPECT_NE(run.screen().find("00.onnx  "), std::string::npos) << run.screen();
  EXPECT_NE(run.screen().find("01.onnx  "), std::string::npos) << run.screen();
}

TEST(ProgressBars, NamesCannotSteerTheTerminal) {
  for (const Progress::Style style : {Progress::Style::bar, Progress::Style::lines}) {
    OnTerminal run(style, 80, 24);
    run.bars->begin("pull\033[2J", 100, 2);
    run.bars->update("a\033[31m\n\xff", 10, 50);
    run.bars->note("b\033[31m");
    run.bars->finish("a\033[31m\n\xff");
    run.bars->end("c\033[31m");
    EXPECT_EQ(run.all.find("\033[31m"), std::string::npos);
    EXPECT_EQ(run.all.find("\033[2J"), std::string::npos);
  }
}

TEST(ProgressBars, LinesAreOneAFileAndFewOfManySmallOnes) {
  OnTerminal run(Progress::Style::lines, 80, 24);
  run.bars->begin("pull", 40000 * 100, 40000);
  for (int i = 0; i < 40000; ++i) {
    run.now += 0.001;  // 40 s
    const std::string name = "f" + std::to_string(i);
    run.bars->update(name, 0, 100);
    run.bars->update(name, 100, 100);
    run.bars->finish(name);
  }
  run.bars->note("a warning");
  run.bars->end("40000 files");
  for (const char c : run.all) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  EXPECT_LE(run.writes, 20u + 40 + 4 + 3);
  EXPECT_GE(run.writes, 40u);
  EXPECT_TRUE(run.all.starts_with("f0: 100 B, 1 of 40000 files\nf1: ")) << run.all.substr(0, 200);
  EXPECT_NE(run.all.find(" before it)\n"), std::string::npos);
  EXPECT_TRUE(run.all.ends_with("a warning\npull: 4.000 MB in 40 s, 100.0 kB/s; 40000 files\n")) << run.all;
}

TEST(ProgressBars, BigFilesAlwaysHaveALine) {
  OnTerminal run(Progress::Style::lines, 80, 24);
  run.bars->begin("pull", 100e9, 100);
  for (int i = 0; i < 100; ++i) {
    run.bars->update(shard(i), 0, 1000000000);
    run.bars->finish(shard(i));
  }
  EXPECT_EQ(run.writes, 100u);
}

TEST(ProgressBars, QuietWritesNothing) {
  OnTerminal run(Progress::Style::off, 80, 24);
  run.bars->begin("pull", 100, 2);
  run.bars->update("a", 10, 50);
  run.bars->note("b");
  run.bars->finish("a");
  run.bars->end("c");
  EXPECT_EQ(run.writes, 0u);
}

TEST(ProgressBars, DrawsAtMostTenTimesASecondAndServesThreads) {
  OnTerminal run(Progress::Style::bar, 80, 24);
  run.bars->begin("pull", 4000, 4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&run, t] {
      for (std::uint64_t i = 0; i < 1000; ++i) run.bars->update(shard(t), i, 1000);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(run.writes, 1u);  // the clock stands
  run.bars->end();
  EXPECT_EQ(run.writes, 2u);
}

TEST(TerminalText, IsShortenedInTheMiddle) {
  EXPECT_EQ(shortened_in_the_middle("abc", 3), "abc");
  EXPECT_EQ(shortened_in_the_middle("abcdefghij", 5), "ab…ij");
  EXPECT_EQ(shortened_in_the_middle("abcdefghij", 1), "…");
  EXPECT_EQ(shortened_in_the_middle("abcdefghij", 0), "");
  for (int width = 0; width < 30; ++width)
    for (const char* text :
         {"漢字漢字漢字漢字.bin", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", "plain-name-00001.bin"})
      EXPECT_LE(display_width(shortened_in_the_middle(text, width)), width) << text;
}

}  // namespace
}  // namespace tilewright
