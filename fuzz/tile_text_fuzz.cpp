// Any bytes as a tile program's text: an Error with a place, or a program that prints and reads back as itself, and
// that verify accepts or refuses without a crash.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "tile/ir/parser.h"
#include "tile/ir/printer.h"
#include "tile/verify/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  tile::Program program;
  try {
    program = tile::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const Error& error) {
    if (error.text().where.find("fuzz") == std::string::npos) std::abort();
    return 0;
  }
  const std::string text = tile::print(program);
  if (tile::print(tile::parse(text)) != text) std::abort();
  try {
    tile::verify(program);
  } catch (const Error&) {
  }
  return 0;
}
