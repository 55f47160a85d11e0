// SHA-256 and SHA-1 of bytes as they come: what published files are checked with. (base/hash.h is for names of our
// own.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

class Digest {
 public:
  enum class Kind { sha256, sha1 };
  explicit Digest(Kind kind);
  ~Digest();
  Digest(const Digest& other);  // goes on from the same point
  Digest& operator=(const Digest& other);
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  // Of all that came so far, in lower-case hexadecimal digits; more may follow.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The hash git gives to a file of `size` bytes: SHA-1 of "blob SIZE\0" and the bytes. The first part is in already.
Digest git_blob_digest(std::uint64_t size);

// Of a whole file after what `begun` has already, in constant memory. Throws Error if it cannot be read.
std::string digest_of_file(const std::filesystem::path& path, Digest begun);
std::string sha256_of_file(const std::filesystem::path& path);
std::string sha256_of_text(std::string_view text);

}  // namespace tilewright
