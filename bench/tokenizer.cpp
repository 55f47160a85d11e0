// Load time and encode/decode speed of a tokenizer.json. No caching between rounds matters here: the tokenizer keeps
// none.
//
//   tokenizer --tokenizer FILE [--text NAME=FILE]… [--rounds N]
//
// Prints one line a measurement: what, the best round by the clock and by processor time. A text is encoded whole, as
// one string.
#include "hub/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "base/error.h"
#include "base/mapped_file.h"

namespace {

using tilewright::hub::Tokenizer;

struct Seconds {
  double clock, processor;
};

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The best of all rounds, of each on its own.
template <typename Work>
Seconds best_of(int rounds, Work work) {
  Seconds best{1e9, 1e9};
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const double processor = processor_seconds();
    work();
    best.processor = std::min(best.processor, processor_seconds() - processor);
    best.clock = std::min(best.clock, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

void print_speed(const std::string& what, std::size_t bytes, Seconds seconds) {
  const double megabytes = static_cast<double>(bytes) / 1e6;
  fmt::print("{:<20} {:8.2f} MB/s by the clock   {:8.2f} MB/s of processor time   ({:.2f} MB)\n", what,
             megabytes / seconds.clock, megabytes / seconds.processor, megabytes);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Load time and speed of a tokenizer");
  std::string path;
  std::vector<std::string> texts;
  int rounds = 5;
  app.add_option("--tokenizer", path, "tokenizer.json or a model directory")->required();
  app.add_option("--text", texts, "NAME=FILE, may be given several times");
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    const auto load = best_of(rounds, [&] { (void)Tokenizer::load(path); });
    fmt::print("{:<20} {:8.3f} s by the clock      {:8.3f} s of processor time\n", "load", load.clock, load.processor);
    const Tokenizer tokenizer = Tokenizer::load(path);
    for (const std::string& item : texts) {
      const std::size_t equals = item.find('=');
      const std::string name = item.substr(0, equals);
      const tilewright::MappedFile file(equals == std::string::npos ? item : item.substr(equals + 1));
      std::vector<std::int32_t> ids;
      print_speed("encode " + name, file.text().size(),
                  best_of(rounds, [&] { ids = tokenizer.encode(file.text(), false); }));
      std::string text;
      const auto decode = best_of(rounds, [&] { text = tokenizer.decode(ids, false); });
      print_speed("decode " + name, text.size(), decode);
      fmt::print("{:<20} {} tokens, {:.2f} bytes a token\n", name, ids.size(),
                 static_cast<double>(file.text().size()) / static_cast<double>(std::max<std::size_t>(ids.size(), 1)));
    }
    return 0;
  } catch (const tilewright::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
