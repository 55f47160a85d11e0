#include "hub/fetch/partial_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "hub/fetch/new_file.h"

namespace tilewright::hub {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;
constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;  // never through a link, never waiting for a pipe
constexpr std::string_view kFormat = "tilewright-partial-1";

// The state file: a line "tilewright-partial-1 KIND SUM SIZE own|taken TOKEN", which says whose bytes these are and who
// opened the file last; then lines "OFFSET SUM", 16 digits and the digest of all bytes before OFFSET.
class Handle {
 public:
  Handle() = default;
  explicit Handle(int fd) : fd_(fd) {}
  ~Handle() {
    if (fd_ >= 0) ::close(fd_);
  }
  Handle(Handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

[[noreturn]] void partial_failed(const char* what, const std::filesystem::path& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  fail({.what = what,
        .where = path.string(),
        .expected = "",
        .found = std::strerror(error),
        .fix = full ? "free disk space; what came so far is kept" : "check the disk and that the folder is writable"});
}

std::filesystem::path state_path_of(const std::filesystem::path& path) { return path.string() + ".state"; }
std::filesystem::path next_state_path_of(const std::filesystem::path& path) { return path.string() + ".state.new"; }

std::string hex16(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

std::string checkpoint_line(std::uint64_t offset, const Digest& digest) {
  return hex16(offset) + " " + digest.hex() + "\n";
}

// A line as `checkpoint_line` makes them; nothing if it is damaged.
std::optional<std::pair<std::uint64_t, std::string_view>> parse_checkpoint(std::string_view line) {
  std::uint64_t offset = 0;
  if (line.size() < 18 || line[16] != ' ') return std::nullopt;
  const auto [end, error] = std::from_chars(line.data(), line.data() + 16, offset, 16);
  if (error != std::errc() || end != line.data() + 16) return std::nullopt;
  return std::pair(offset, line.substr(17));
}

void write_at(int file, std::span<const std::byte> bytes, std::uint64_t at, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) partial_failed("cannot write the file that is being fetched", path, n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
}

// Reads at most `limit` bytes at `at` and gives them to `take`; what it read.
template <typename Take>
std::uint64_t read_at(int file, std::uint64_t at, std::uint64_t limit, const Take& take) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(limit, kBuffer)));
  std::uint64_t done = 0;
  while (done < limit) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(limit - done, kBuffer));
    const ssize_t n = ::pread(file, buffer.data(), want, static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;  // a bad sector ends what can be kept
    take(std::span<const std::byte>(buffer).first(static_cast<std::size_t>(n)));
    done += static_cast<std::uint64_t>(n);
  }
  return done;
}

// Line by line in constant memory; a line over 300 bytes is damaged and comes in pieces.
class LineReader {
 public:
  explicit LineReader(int file) : file_(file), buffer_(64 << 10) {}
  std::optional<std::string_view> next() {  // without its end; a last line that has none is torn: nothing
    for (;;) {
      const char* const begin = buffer_.data() + at_;
      if (const void* end = std::memchr(begin, '\n', size_ - at_)) {
        const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - begin);
        at_ += length + 1;
        return std::string_view(begin, length);
      }
      if (size_ - at_ > 300) {
        at_ += 300;
        return std::string_view(begin, 300);
      }
      std::memmove(buffer_.data(), begin, size_ - at_);
      size_ -= at_;
      at_ = 0;
      const ssize_t n = ::read(file_, buffer_.data() + size_, buffer_.size() - size_);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return std::nullopt;
      size_ += static_cast<std::size_t>(n);
    }
  }

 private:
  int file_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, size_ = 0;
};

// As `open` gives it to new files: a found file may have been made with other ideas, for one owner only.
mode_t usual_mode() {
  try {
    const std::string status = read_text_file("/proc/self/status", 1 << 20);
    if (const std::size_t at = status.find("\nUmask:\t"); at != status.npos)
      return 0666 & ~static_cast<mode_t>(std::strtoul(status.c_str() + at + 8, nullptr, 8));
  } catch (const Error&) {
  }
  return 0644;
}

}  // namespace

Digest Checksum::begin() const { return kind == Digest::Kind::sha1 ? git_blob_digest(size) : Digest(kind); }

struct PartialFile::State {
  const std::filesystem::path& path;
  const Checksum& checksum;
  Handle data, state;
  Digest digest;
  std::uint64_t held = 0, checkpoint = 0;  // bytes in `digest`; those that the last line vouches for
  bool taken = false;                      // bytes that no state vouched for
  bool ours = true;                        // false once published or removed
  std::string token;

  State(const std::filesystem::path& path, const Checksum& checksum)
      : path(path), checksum(checksum), digest(checksum.begin()) {}

  std::string header() const {
    return std::string(kFormat) + (checksum.kind == Digest::Kind::sha1 ? " sha1 " : " sha256 ") + checksum.hex + " " +
           hex16(checksum.size) + (taken ? " taken " : " own ");
  }

  // A new state file under its temporary name; `settle` gives it its own.
  void begin_state() {
    token = unique_name_beside("").string();
    ::unlink(next_state_path_of(path).c_str());
    state = Handle(::open(next_state_path_of(path).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | kFlags, 0666));
    if (!state) partial_failed("cannot make the file that is being fetched", path, errno);
    add_line(header() + token + "\n");
    checkpoint = 0;
  }
  void settle() {
    if (::rename(next_state_path_of(path).c_str(), state_path_of(path).c_str()) != 0)
      partial_failed("cannot make the file that is being fetched", path, errno);
  }
  void add_line(const std::string& line) {
    const ssize_t n = ::write(state.get(), line.data(), line.size());
    if (n != static_cast<ssize_t>(line.size()))  // torn: the reader skips it
      partial_failed("cannot write the file that is being fetched", path, n < 0 ? errno : ENOSPC);
  }
  void add_checkpoint() {
    add_line(checkpoint_line(held, digest));
    checkpoint = held;
  }

  // Nothing held, in a new file: one that another process has open stays its own.
  void start_afresh() {
    held = 0;
    digest = checksum.begin();
    taken = false;
    ::unlink(path.c_str());
    begin_state();
    settle();
    data = Handle(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | kFlags, 0666));
    if (!data) partial_failed("cannot make the file that is being fetched", path, errno);
  }

  void open() {
    data = Handle(::open(path.c_str(), O_RDWR | kFlags));
    struct stat info {};
    // Not a file, or one with a second name, which would be written to as well; or longer than it can be.
    if (!data || ::fstat(data.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 1 || info.st_size < 0 ||
        static_cast<std::uint64_t>(info.st_size) > checksum.size)
      return start_afresh();
    const auto found = static_cast<std::uint64_t>(info.st_size);
    const Handle old(::open(state_path_of(path).c_str(), O_RDONLY | kFlags));
    if (!old && errno != ENOENT) return start_afresh();
    if (!old) return take_whole(found);
    LineReader lines(old.get());
    const std::optional<std::string_view> first = lines.next();
    if (!first) return start_afresh();
    for (const bool whose : {true, false}) {  // the header says whether bytes were taken over
      taken = whose;
      if (first->starts_with(header())) break;
      if (!whose) return start_afresh();
    }
    keep_agreeing(lines, found);
    if (held == 0) start_afresh();
  }

  void take_whole(std::uint64_t found) {
    taken = found > 0;
    begin_state();
    held = read_at(data.get(), 0, found, [&](std::span<const std::byte> bytes) { digest.update(bytes); });
    if (held > 0) add_checkpoint();
    settle();
  }

  // One pass over the bytes. A line that disagrees may itself be damaged, so the later ones are still asked.
  void keep_agreeing(LineReader& lines, std::uint64_t found) {
    begin_state();
    Digest running = checksum.begin();
    std::uint64_t read = 0;
    const auto go_to = [&](std::uint64_t offset) {
      read +=
          read_at(data.get(), read, offset - read, [&](std::span<const std::byte> bytes) { running.update(bytes); });
      return read == offset;
    };
    while (const std::optional<std::string_view> line = lines.next()) {
      const auto parsed = parse_checkpoint(*line);
      if (!parsed || parsed->first <= read || parsed->first > found) continue;
      const auto [offset, sum] = std::pair(parsed->first, std::string(parsed->second));
      if (!go_to(offset)) break;
      if (running.hex() != sum) continue;
      held = offset;
      digest = running;
      add_checkpoint();
    }
    // Whole but not published: the sum itself vouches for the end.
    if (found == checksum.size && held < found && go_to(found) && running.hex() == checksum.hex) {
      held = found;
      digest = running;
    }
    settle();
  }

  // Where locks do not work another process may have opened the file after us. Then it is not ours alone.
  bool undisturbed() const {
    struct stat mine {
    }, named{};
    if (::fstat(data.get(), &mine) != 0 || ::lstat(path.c_str(), &named) != 0 || mine.st_ino != named.st_ino ||
        mine.st_dev != named.st_dev || static_cast<std::uint64_t>(mine.st_size) != checksum.size)
      return false;
    const Handle now(::open(state_path_of(path).c_str(), O_RDONLY | kFlags));
    if (!now) return false;
    LineReader lines(now.get());
    const std::optional<std::string_view> first = lines.next();
    return first && *first == header() + token;
  }

  // A copy that nobody else has open, checked again.
  void publish_copy(const std::filesystem::path& to) {
    const std::filesystem::path copy = unique_name_beside(path);
    const Handle out(::open(copy.c_str(), O_WRONLY | O_CREAT | O_EXCL | kFlags, 0666));
    if (!out) partial_failed("cannot make the file that is being fetched", copy, errno);
    try {
      Digest again = checksum.begin();
      std::uint64_t at = 0;
      read_at(data.get(), 0, checksum.size, [&](std::span<const std::byte> bytes) {
        write_at(out.get(), bytes, at, copy);
        again.update(bytes);
        at += bytes.size();
      });
      if (at != checksum.size || again.hex() != checksum.hex)
        fail({.what = "another program changed the file while it was fetched",
              .where = path.string(),
              .expected = "one program at a time",
              .found = "other bytes",
              .fix = "run it again; let one program at a time fetch into this folder"});
      if (::fsync(out.get()) != 0 || ::rename(copy.c_str(), to.c_str()) != 0)
        partial_failed("cannot give the fetched file its name", to, errno);
    } catch (...) {
      ::unlink(copy.c_str());
      throw;
    }
  }

  void drop_state() {
    ::unlink(state_path_of(path).c_str());
    ::unlink(next_state_path_of(path).c_str());
    ours = false;
  }
};

PartialFile::PartialFile(std::filesystem::path path, const Checksum& checksum)
    : path_(std::move(path)), checksum_(checksum) {
  state_ = std::make_unique<State>(path_, checksum_);
  state_->open();
}

PartialFile::~PartialFile() {
  if (!state_->ours || state_->held == state_->checkpoint) return;
  try {
    state_->add_checkpoint();  // nothing is lost when a run ends in order
  } catch (const Error&) {
  }
}

std::uint64_t PartialFile::size() const { return state_->held; }
bool PartialFile::unproven() const { return state_->taken; }

void PartialFile::append(std::span<const std::byte> bytes) {
  if (bytes.size() > checksum_.size - state_->held)
    fail({.what = "more bytes came than the file has",
          .where = path_.string(),
          .expected = std::to_string(checksum_.size) + " bytes",
          .found = "more",
          .fix = "try again; if it stays so, the server is at fault"});
  while (!bytes.empty()) {
    const std::uint64_t next = (state_->held / kCheckpoint + 1) * kCheckpoint;
    const auto piece =
        bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), next - state_->held)));
    write_at(state_->data.get(), piece, state_->held, path_);
    state_->digest.update(piece);
    state_->held += piece.size();
    if (state_->held == next) state_->add_checkpoint();
    bytes = bytes.subspan(piece.size());
  }
}

void PartialFile::restart() { state_->start_afresh(); }

bool PartialFile::is_right() const { return is_whole() && state_->digest.hex() == checksum_.hex; }

std::string PartialFile::sum() const { return state_->digest.hex(); }

void PartialFile::publish(const std::filesystem::path& to) {
  TW_CHECK(is_right());
  if (!state_->undisturbed()) {
    state_->publish_copy(to);
    ::unlink(path_.c_str());
  } else {
    ::fchmod(state_->data.get(), usual_mode());  // best effort: another owner's file stays as it is
    if (::fsync(state_->data.get()) != 0 || ::rename(path_.c_str(), to.c_str()) != 0)
      partial_failed("cannot give the fetched file its name", to, errno);
  }
  state_->drop_state();
}

void PartialFile::remove() {
  ::unlink(path_.c_str());
  state_->drop_state();
}

}  // namespace tilewright::hub
