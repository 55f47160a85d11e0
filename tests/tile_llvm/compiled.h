// For tests of compiled tile programs: compiles through the module's one function, maps the object, runs it. A loader
// of its own, so that what the compiler writes is judged without the rest of the project.
#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "tile/binary/kernel_abi.h"
#include "tile/interp/interpreter.h"
#include "tile/ir/printer.h"
#include "tile/passes/lower.h"

namespace tilewright::tile {

using CompileFunction = int (*)(const char*, const char*, const char*,
                                void (*)(void*, const void*, std::size_t, const char*), void*);

inline CompileFunction compile_function() {
  static const CompileFunction function = [] {
    void* module = dlopen(TILEWRIGHT_BINARY_DIR "/lib/libtilewright_llvm.so", RTLD_NOW | RTLD_LOCAL);
    return module == nullptr ? nullptr : reinterpret_cast<CompileFunction>(dlsym(module, "tilewright_llvm_compile"));
  }();
  return function;
}

// What the compiler gave, by name: code, ir, assembly. Throws what it said went wrong.
inline std::map<std::string, std::string> compile_text(const std::string& text, const std::string& level,
                                                       const std::string& options = "") {
  std::map<std::string, std::string> out;
  const auto accept = [](void* user, const void* bytes, std::size_t size, const char* what) {
    (*static_cast<std::map<std::string, std::string>*>(user))[what].assign(static_cast<const char*>(bytes), size);
  };
  if (compile_function()(text.c_str(), level.c_str(), options.c_str(), accept, &out) != 0)
    throw std::runtime_error(out["error"]);
  return out;
}
inline std::map<std::string, std::string> compile(const Program& program, const std::string& level,
                                                  const std::string& options = "") {
  return compile_text(print(lower(program, {.level = level})), level, options);
}

// Levels of this processor.
inline std::vector<std::string> runnable_levels() {
  std::vector<std::string> out;
  for (const IsaLevel level : {IsaLevel::avx2, IsaLevel::avx512, IsaLevel::avx512_bf16})
    if (detected_isa() >= level) out.emplace_back(isa_name(level));
  return out;
}

// An x86-64 object in memory.
class Loaded {
 public:
  explicit Loaded(const std::string& object) {
    const char* bytes = object.data();
    const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(bytes);
    const auto* sections = reinterpret_cast<const Elf64_Shdr*>(bytes + header.e_shoff);
    std::vector<std::size_t> place(header.e_shnum, 0);
    std::size_t size = 0;
    for (int i = 0; i < header.e_shnum; ++i) {
      if ((sections[i].sh_flags & SHF_ALLOC) == 0) continue;
      size = (size + 63) / 64 * 64;
      place[static_cast<std::size_t>(i)] = size;
      size += sections[i].sh_size;
    }
    size_ = size;
    memory_ = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (int i = 0; i < header.e_shnum; ++i)
      if ((sections[i].sh_flags & SHF_ALLOC) != 0 && sections[i].sh_type != SHT_NOBITS)
        std::memcpy(memory_ + place[static_cast<std::size_t>(i)], bytes + sections[i].sh_offset, sections[i].sh_size);
    for (int i = 0; i < header.e_shnum; ++i) {
      if (sections[i].sh_type == SHT_SYMTAB) {
        const auto* symbols = reinterpret_cast<const Elf64_Sym*>(bytes + sections[i].sh_offset);
        const char* names = bytes + sections[sections[i].sh_link].sh_offset;
        for (std::size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s) {
          const std::string name = names + symbols[s].st_name;
          if (name == "tw_run")
            run = reinterpret_cast<RunFunction>(memory_ + place[symbols[s].st_shndx] + symbols[s].st_value);
          if (name == "tw_blocks")
            blocks = reinterpret_cast<BlocksFunction>(memory_ + place[symbols[s].st_shndx] + symbols[s].st_value);
        }
      }
      if (sections[i].sh_type != SHT_RELA || (sections[sections[i].sh_info].sh_flags & SHF_ALLOC) == 0) continue;
      const auto* relocations = reinterpret_cast<const Elf64_Rela*>(bytes + sections[i].sh_offset);
      const auto* symbols = reinterpret_cast<const Elf64_Sym*>(bytes + sections[sections[i].sh_link].sh_offset);
      for (std::size_t r = 0; r < sections[i].sh_size / sizeof(Elf64_Rela); ++r) {
        const Elf64_Rela& relocation = relocations[r];
        const Elf64_Sym& symbol = symbols[ELF64_R_SYM(relocation.r_info)];
        if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_PC32 && ELF64_R_TYPE(relocation.r_info) != R_X86_64_PLT32)
          throw std::runtime_error("relocation " + std::to_string(ELF64_R_TYPE(relocation.r_info)));
        char* at = memory_ + place[sections[i].sh_info] + relocation.r_offset;
        const auto value =
            static_cast<std::int32_t>(memory_ + place[symbol.st_shndx] + symbol.st_value + relocation.r_addend - at);
        std::memcpy(at, &value, 4);
      }
    }
    mprotect(memory_, size_, PROT_READ | PROT_EXEC);
  }
  ~Loaded() { munmap(memory_, size_); }
  Loaded(const Loaded&) = delete;

  RunFunction run = nullptr;
  BlocksFunction blocks = nullptr;

 private:
  char* memory_ = nullptr;
  std::size_t size_ = 0;
};

// Compiled once in a test program.
inline const Loaded& loaded(const Program& program, const std::string& level, const std::string& options = "") {
  static std::map<std::string, std::unique_ptr<Loaded>> known;
  const std::string text = print(lower(program, {.level = level}));
  std::unique_ptr<Loaded>& code = known[level + " " + options + " " + text];
  if (code == nullptr) code = std::make_unique<Loaded>(compile_text(text, level, options).at("code"));
  return *code;
}

// Dims, strides and scalars as the functions take them.
inline std::vector<std::int64_t> call_values(const Program& program, const Arguments& arguments) {
  std::vector<std::int64_t> out(program.dims.size(), 0);
  for (std::size_t t = 0; t < program.tensors.size(); ++t)
    for (std::size_t d = 0; d < program.tensors[t].shape.size(); ++d)
      if (const int symbol = program.tensors[t].shape[d].symbol; symbol != kNone)
        out[static_cast<std::size_t>(symbol)] = arguments.tensors[t].shape[d];
  for (const TensorArgument& tensor : arguments.tensors)
    out.insert(out.end(), tensor.strides.begin(), tensor.strides.end());
  for (std::size_t i = 0; i < program.scalars.size(); ++i) {
    if (program.scalars[i].dtype == DType::f32) {
      const auto value = static_cast<float>(arguments.scalars[i]);
      std::int64_t bits = 0;
      std::memcpy(&bits, &value, 4);
      out.push_back(bits);
    } else {
      out.push_back(static_cast<std::int64_t>(arguments.scalars[i]));
    }
  }
  return out;
}

// Runs in `pieces` calls, as threads would share the blocks.
inline void run(const Loaded& code, const Program& program, const Arguments& arguments, std::int64_t pieces = 2) {
  const std::vector<std::int64_t> values = call_values(program, arguments);
  std::vector<void*> addresses;
  for (const TensorArgument& tensor : arguments.tensors) addresses.push_back(tensor.data);
  const std::int64_t blocks = code.blocks(values.data());
  for (std::int64_t i = 0; i < pieces; ++i)
    code.run(addresses.data(), values.data(), blocks * i / pieces, blocks * (i + 1) / pieces);
}

// A tensor with gaps between its rows and a guard behind it, filled by a seed.
struct TestTensor {
  DType dtype;
  std::vector<std::int64_t> shape, strides;
  std::vector<std::byte> bytes;
  TestTensor(DType type, std::vector<std::int64_t> extents, std::int64_t padding = 3) : dtype(type), shape(extents) {
    strides.assign(shape.size(), 1);
    std::int64_t total = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      strides[d] = total;
      total *= shape[d];
      if (d + 1 == shape.size()) total += padding;
    }
    bytes.assign(static_cast<std::size_t>(total + 8) * dtype_size(dtype), std::byte{0x5a});
  }
  // Values low … high; every element of the memory, gaps too, so that reading a gap is a wrong number and no NaN.
  TestTensor& fill(unsigned seed, double low, double high) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> spread(low, high);
    for (std::size_t i = 0; i < bytes.size() / dtype_size(dtype); ++i)
      store_element(dtype, bytes.data() + i * dtype_size(dtype), spread(random));
    return *this;
  }
  TensorArgument argument() { return {bytes.data(), shape, strides}; }
  double at(std::size_t i) const { return load_element(dtype, bytes.data() + i * dtype_size(dtype)); }
  std::size_t elements() const { return bytes.size() / dtype_size(dtype); }
};

// Compiled at every level that runs here against the interpreter: outputs (and what lies between and behind their rows)
// agree within `relative` and `absolute`.
inline void expect_like_interpreter(const Program& program, const std::vector<TestTensor>& tensors,
                                    const std::vector<double>& scalars = {}, double relative = 2e-6,
                                    double absolute = 2e-6, const std::string& options = "") {
  const auto bind = [&](std::vector<TestTensor>& own) {
    Arguments out{{}, scalars};
    for (TestTensor& tensor : own) out.tensors.push_back(tensor.argument());
    return out;
  };
  std::vector<TestTensor> expected = tensors;
  interpret(program, bind(expected));
  for (const std::string& level : runnable_levels()) {
    std::vector<TestTensor> found = tensors;
    try {
      run(loaded(program, level, options), program, bind(found));
    } catch (const std::exception& error) {
      FAIL() << level << ": " << error.what() << "\n" << print(lower(program, {.level = level}));
    }
    for (std::size_t t = 0; t < tensors.size(); ++t)
      for (std::size_t i = 0; i < found[t].elements(); ++i) {
        const double a = expected[t].at(i), b = found[t].at(i);
        const double step = tensors[t].dtype == DType::bf16  ? 1.0 / 128
                            : tensors[t].dtype == DType::f16 ? 1.0 / 1024
                                                             : 0;
        const bool same = a == b || (a != a && b != b);
        ASSERT_TRUE(same || std::abs(a - b) <= absolute + (relative + step) * std::abs(a))
            << level << ", tensor " << program.tensors[t].name << ", element " << i << ": expected " << a << ", found "
            << b << "\n"
            << print(lower(program, {.level = level}));
      }
  }
}

}  // namespace tilewright::tile
