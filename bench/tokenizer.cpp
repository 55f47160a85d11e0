// Load time and encode/decode speed of a tokenizer.json. No caching between rounds matters here: the tokenizer keeps
// none.
//
//   tokenizer --tokenizer FILE [--text NAME=FILE]… [--rounds N]
//
// Prints one line a measurement: what, best and median of the rounds. A text is encoded whole, as one string.
#include "hub/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/error.h"
#include "base/mapped_file.h"

namespace {

using tilewright::hub::Tokenizer;

// Seconds of each round, in ascending order.
template <typename Work>
std::vector<double> time_rounds(int rounds, Work work) {
  std::vector<double> out;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    out.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(out.begin(), out.end());
  return out;
}

void print_speed(const std::string& what, std::size_t bytes, const std::vector<double>& seconds) {
  const double megabytes = static_cast<double>(bytes) / 1e6;
  fmt::print("{:<28} best {:8.2f} MB/s   median {:8.2f} MB/s   ({:.2f} MB)\n", what, megabytes / seconds.front(),
             megabytes / seconds[seconds.size() / 2], megabytes);
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
    const auto load = time_rounds(rounds, [&] { (void)Tokenizer::load(path); });
    fmt::print("{:<28} best {:8.3f} s      median {:8.3f} s\n", "load", load.front(), load[load.size() / 2]);
    const Tokenizer tokenizer = Tokenizer::load(path);
    for (const std::string& item : texts) {
      const std::size_t equals = item.find('=');
      const std::string name = item.substr(0, equals);
      const tilewright::MappedFile file(equals == std::string::npos ? item : item.substr(equals + 1));
      std::vector<std::int32_t> ids;
      print_speed("encode " + name, file.text().size(),
                  time_rounds(rounds, [&] { ids = tokenizer.encode(file.text(), false); }));
      std::string text;
      const auto decode = time_rounds(rounds, [&] { text = tokenizer.decode(ids, false); });
      print_speed("decode " + name, text.size(), decode);
      fmt::print("{:<28} {} tokens, {:.2f} bytes a token\n", name, ids.size(),
                 static_cast<double>(file.text().size()) / static_cast<double>(std::max<std::size_t>(ids.size(), 1)));
    }
    return 0;
  } catch (const tilewright::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
