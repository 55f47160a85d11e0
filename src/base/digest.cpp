#include "base/digest.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace tilewright {

struct Digest::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() { TW_CHECK(context); }
  State(const State& other) : State() { TW_CHECK(EVP_MD_CTX_copy_ex(context, other.context) == 1); }
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Digest::Digest(Kind kind) : state_(std::make_unique<State>()) {
  TW_CHECK(EVP_DigestInit_ex(state_->context, kind == Kind::sha256 ? EVP_sha256() : EVP_sha1(), nullptr) == 1);
}

Digest::~Digest() = default;
Digest::Digest(const Digest& other) : state_(std::make_unique<State>(*other.state_)) {}
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;
Digest& Digest::operator=(const Digest& other) {
  if (this != &other) state_ = std::make_unique<State>(*other.state_);
  return *this;
}

void Digest::update(std::span<const std::byte> bytes) {
  TW_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

void Digest::update(std::string_view text) { update(std::as_bytes(std::span(text))); }

std::string Digest::hex() const {
  const State copy(*state_);  // finishing ends a context
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned length = 0;
  TW_CHECK(EVP_DigestFinal_ex(copy.context, sum.data(), &length) == 1);
  std::string text;
  text.reserve(2 * length);
  for (unsigned i = 0; i < length; ++i) {
    text += "0123456789abcdef"[sum[i] >> 4];
    text += "0123456789abcdef"[sum[i] & 15];
  }
  return text;
}

Digest git_blob_digest(std::uint64_t size) {
  Digest digest(Digest::Kind::sha1);
  digest.update(std::string_view("blob " + std::to_string(size) + std::string(1, '\0')));
  return digest;
}

std::string digest_of_file(const std::filesystem::path& path, Digest digest) {
  const auto refuse = [&](const std::string& found) {
    fail({.what = "cannot read the file",
          .where = path.string(),
          .expected = "",
          .found = found,
          .fix = "check the path"});
  };
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) ::close(fd);
    }
  } const file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) refuse(std::strerror(errno));
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) refuse(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) refuse(S_ISDIR(info.st_mode) ? "a folder" : "no regular file");
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (;;) {
    const ssize_t n = ::read(file.fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(std::strerror(errno));
    if (n == 0) return digest.hex();
    digest.update(std::span(buffer).first(static_cast<std::size_t>(n)));
  }
}

std::string sha256_of_file(const std::filesystem::path& path) {
  return digest_of_file(path, Digest(Digest::Kind::sha256));
}

std::string sha256_of_text(std::string_view text) {
  Digest digest(Digest::Kind::sha256);
  digest.update(text);
  return digest.hex();
}

}  // namespace tilewright
