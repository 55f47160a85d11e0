// Objects of all levels, what they hold, and what the compiler says of texts that are wrong.
#include <thread>

#include "tile/build/builder.h"
#include "tile_llvm/compiled.h"

namespace tilewright::tile {
namespace {

class CompiledObjects : public testing::Test {
  void SetUp() override {
    if (compile_function() == nullptr) GTEST_SKIP() << "not run: libtilewright_llvm.so is not built";
  }
};

// Everything that could tempt a code generator to call a library: large copies, fills, remainders, halves, functions.
Program tempting() {
  Builder b("tempting");
  const auto rows = b.dim("rows"), width = b.dim("width");
  const auto x = b.input("x", DType::f16, {rows, width});
  const auto w = b.input("w", DType::bf16, {width, width});
  const auto y = b.output("y", DType::f16, {rows, width});
  const auto zeros = b.output("zeros", DType::f32, {rows, 512});
  b.parallel("i", 0, rows, 2, [&](Index i) {
    const Tile v = cast(b.view(x, {i, 0}, {2, 512}, to_end), DType::f32);
    Tile all = v;
    for (int code = static_cast<int>(OpCode::exp); code <= static_cast<int>(OpCode::gelu_tanh); ++code)
      all = all + unary(static_cast<OpCode>(code), v) / max(v, 1);
    const Tile turned = transpose(reshape(b.constant(0, 2, 512), 1024, 1));
    b.assemble(cast(all + broadcast(cast(b.from_index(i / 7 + i % 5), DType::f32), 2, 512), DType::f16), y, {i, 0});
    b.assemble(reshape(turned, 2, 512), zeros, {i, 0});
  });
  (void)w;
  return b.finish();
}

struct Header {
  std::uint8_t word;
  std::uint16_t type, machine;
};
Header header_of(const std::string& object) {
  const auto& elf = *reinterpret_cast<const Elf64_Ehdr*>(object.data());
  return {elf.e_ident[EI_CLASS], elf.e_type, elf.e_machine};
}

std::vector<std::string> undefined_symbols(const std::string& object, std::vector<std::string>& defined) {
  std::vector<std::string> out;
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(object.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(object.data() + header.e_shoff);
  for (int i = 0; i < header.e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(object.data() + sections[i].sh_offset);
    const char* names = object.data() + sections[sections[i].sh_link].sh_offset;
    for (std::size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s) {
      const std::string name = names + symbols[s].st_name;
      if (name.empty() || ELF64_ST_TYPE(symbols[s].st_info) == STT_FILE) continue;
      if (symbols[s].st_shndx == SHN_UNDEF) out.push_back(name);
      if (ELF64_ST_BIND(symbols[s].st_info) == STB_GLOBAL && symbols[s].st_shndx != SHN_UNDEF) defined.push_back(name);
    }
  }
  return out;
}

TEST_F(CompiledObjects, OfEveryLevelCallNothing) {
  for (const std::string level : {"avx2", "avx512", "avx512_bf16", "neon"}) {
    SCOPED_TRACE(level);
    const std::string object = compile(tempting(), level).at("code");
    const Header header = header_of(object);
    EXPECT_EQ(header.word, ELFCLASS64);
    EXPECT_EQ(header.type, ET_REL);
    EXPECT_EQ(header.machine, level == "neon" ? EM_AARCH64 : EM_X86_64);
    std::vector<std::string> defined;
    EXPECT_EQ(undefined_symbols(object, defined), std::vector<std::string>{});
    EXPECT_EQ(defined, (std::vector<std::string>{"tw_blocks", "tw_run"}));
  }
}

TEST_F(CompiledObjects, TextsOnRequest) {
  const auto out = compile(tempting(), "avx2", "ir assembly");
  EXPECT_NE(out.at("ir").find("define void @tw_run"), std::string::npos);
  EXPECT_NE(out.at("assembly").find("tw_run:"), std::string::npos);
  EXPECT_NE(out.at("assembly").find("ymm"), std::string::npos);
  EXPECT_EQ(out.at("assembly").find("zmm"), std::string::npos);
}

TEST_F(CompiledObjects, AreTheSameWhenCompiledAgain) {
  EXPECT_EQ(compile(tempting(), "avx512").at("code"), compile(tempting(), "avx512").at("code"));
}

TEST_F(CompiledObjects, FromSeveralThreads) {
  const std::string expected = compile(tempting(), "avx2").at("code");
  std::vector<std::string> found(3);
  std::vector<std::thread> threads;
  for (std::string& out : found) threads.emplace_back([&out] { out = compile(tempting(), "avx2").at("code"); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& out : found) EXPECT_EQ(out, expected);
}

TEST_F(CompiledObjects, WrongTextsAreRefused) {
  const std::string good = print(lower(tempting(), {}));
  EXPECT_THROW(compile_text("nonsense", "avx2"), std::runtime_error);
  EXPECT_THROW(compile_text(good.substr(0, good.size() / 2), "avx2"), std::runtime_error);
  EXPECT_THROW(compile_text(good, "sse9"), std::runtime_error);
  EXPECT_THROW(compile_text(good, "avx2", "fast"), std::runtime_error);
  EXPECT_FALSE(compile_text(good, "avx2").at("code").empty());
}

// LLVM's answer to what it cannot do is to end the process.
TEST_F(CompiledObjects, AFatalErrorInsideLlvmIsAnErrorOfOneCompilation) {
  const std::string good = print(lower(tempting(), {}));
  EXPECT_THROW(compile_text(good, "avx2", "fault=fatal_error"), std::runtime_error);
  EXPECT_FALSE(compile_text(good, "avx2").at("code").empty());
}

}  // namespace
}  // namespace tilewright::tile
