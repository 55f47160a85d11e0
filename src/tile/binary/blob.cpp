#include "tile/binary/blob.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "base/error.h"
#include "tile/binary/relocation.h"

namespace tilewright::tile {
namespace {

[[noreturn]] void bad_object(const std::string& what, const std::string& found = "") {
  fail({.what = what,
        .where = "object file of a tile program",
        .expected = "",
        .found = found,
        .fix = "this is a fault of the compiler module, not of the program"});
}

class Object {
 public:
  explicit Object(std::span<const std::byte> bytes) : bytes_(bytes), header_(read<Elf64_Ehdr>(0)) {
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64 ||
        header_.e_ident[EI_DATA] != ELFDATA2LSB || header_.e_type != ET_REL)
      bad_object("not a relocatable 64-bit ELF object");
    if (header_.e_machine != EM_X86_64 && header_.e_machine != EM_AARCH64)
      bad_object("an object of another machine", std::to_string(header_.e_machine));
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) bad_object("section headers of an unknown size");
    for (std::size_t i = 0; i < header_.e_shnum; ++i)
      sections_.push_back(read<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)));
    places_.resize(sections_.size());
  }

  Blob blob() {
    lay_out();
    read_symbols();
    for (const Elf64_Shdr& section : sections_) relocate(section);
    blob_.blocks = entry("tw_blocks");
    blob_.run = entry("tw_run");
    return std::move(blob_);
  }

 private:
  template <typename T>
  T read(std::uint64_t offset) const {
    T out;
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) bad_object("the object ends too early");
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return out;
  }
  std::span<const std::byte> contents(const Elf64_Shdr& section) const {
    if (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset)
      bad_object("a section reaches beyond the object");
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }
  const Elf64_Shdr& section(std::uint64_t index) const {
    if (index >= sections_.size()) bad_object("a section that does not exist", std::to_string(index));
    return sections_[index];
  }
  std::string text(const Elf64_Shdr& strings, std::uint64_t offset) const {
    const auto all = contents(strings);
    std::string out;
    for (; offset < all.size() && all[offset] != std::byte{0}; ++offset) out += static_cast<char>(all[offset]);
    return out;
  }

  // Code first, each section at its alignment.
  void lay_out() {
    for (const bool code : {true, false})
      for (std::size_t i = 0; i < sections_.size(); ++i) {
        const Elf64_Shdr& s = sections_[i];
        if (!(s.sh_flags & SHF_ALLOC) || static_cast<bool>(s.sh_flags & SHF_EXECINSTR) != code) continue;
        const std::string name = text(section(header_.e_shstrndx), s.sh_name);
        if (name.starts_with(".eh_frame")) continue;  // nothing is thrown through kernels
        if (s.sh_size == 0) continue;
        if (s.sh_flags & SHF_WRITE || s.sh_type == SHT_NOBITS) bad_object("kernels have no writable data", name);
        if (s.sh_type != SHT_PROGBITS) continue;
        const std::uint64_t align = std::max<std::uint64_t>(1, s.sh_addralign);
        if (align > kBlobAlignment || (align & (align - 1))) bad_object("an alignment beyond a page", name);
        const auto from = contents(s);
        const std::uint64_t at = (blob_.bytes.size() + align - 1) / align * align;
        if (at + from.size() > kLargestBlob) bad_object("the code is too large", std::to_string(from.size()));
        blob_.bytes.resize(at);
        blob_.bytes.insert(blob_.bytes.end(), from.begin(), from.end());
        places_[i] = at;
      }
  }

  void read_symbols() {
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_SYMTAB) continue;
      const Elf64_Shdr& strings = section(s.sh_link);
      for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= contents(s).size(); at += sizeof(Elf64_Sym)) {
        const auto symbol = read<Elf64_Sym>(s.sh_offset + at);
        Symbol out{.name = text(strings, symbol.st_name)};
        if (symbol.st_shndx < sections_.size() && places_[symbol.st_shndx] &&
            symbol.st_value <= sections_[symbol.st_shndx].sh_size)
          out.place = *places_[symbol.st_shndx] + symbol.st_value;
        symbols_.push_back(std::move(out));
      }
      return;
    }
  }

  void relocate(const Elf64_Shdr& relocations) {
    if (relocations.sh_type == SHT_REL) bad_object("relocations without addends");
    if (relocations.sh_type != SHT_RELA) return;
    const std::uint64_t index = relocations.sh_info;
    const Elf64_Shdr& target = section(index);
    if (!places_[index]) return;  // of something that is not loaded
    for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= contents(relocations).size(); at += sizeof(Elf64_Rela)) {
      const auto r = read<Elf64_Rela>(relocations.sh_offset + at);
      const std::uint64_t number = ELF64_R_SYM(r.r_info);
      if (number >= symbols_.size()) bad_object("a relocation names no symbol");
      const Symbol& symbol = symbols_[number];
      if (!symbol.place) bad_object("the code refers to something outside itself", symbol.name);
      if (r.r_offset > target.sh_size) bad_object("a relocation outside its section");
      const Patch patch{.place = *places_[index] + r.r_offset,
                        .target = static_cast<std::int64_t>(*symbol.place),
                        .addend = r.r_addend,
                        .type = static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info))};
      const std::string problem =
          header_.e_machine == EM_X86_64 ? patch_x86_64(blob_.bytes, patch) : patch_aarch64(blob_.bytes, patch);
      if (!problem.empty()) bad_object(problem, fmt::format("type {} at {}", patch.type, symbol.name));
    }
  }

  std::uint64_t entry(const char* name) const {
    for (const Symbol& symbol : symbols_)
      if (symbol.name == name && symbol.place && *symbol.place < blob_.bytes.size()) return *symbol.place;
    bad_object("the object lacks a function", name);
  }

  struct Symbol {
    std::string name;
    std::optional<std::uint64_t> place;  // in the blob; nothing: not part of it
  };
  std::span<const std::byte> bytes_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<std::optional<std::uint64_t>> places_;  // of each section in the blob
  std::vector<Symbol> symbols_;
  Blob blob_;
};

}  // namespace

Blob blob_from_object(std::span<const std::byte> object) { return Object(object).blob(); }

}  // namespace tilewright::tile
