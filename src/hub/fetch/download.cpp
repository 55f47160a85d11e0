#include "hub/fetch/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <span>
#include <vector>

#include "base/error.h"
#include "hub/fetch/unreachable.h"
#include "hub/fetch/url.h"

namespace tilewright::hub {
namespace {

using Clock = std::chrono::steady_clock;

// libcurl hands bytes on in pieces of 16 KiB: a call of the system for each would cost more than the hashing. Stays in
// the processor's cache.
constexpr std::size_t kWrittenAtOnce = 256 << 10;
constexpr auto kKeptInterval = std::chrono::milliseconds(100);  // for slow connections

// Thrown by the sink: the file is whole, and more bytes come.
struct MoreThanNeeded {};
// Thrown by the sink: these bytes are of no use.
struct UselessAnswer {
  std::string why;
};

std::optional<std::uint64_t> unsigned_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_encoded(const HttpHeaders& headers) {
  const std::string* encoding = headers.find("content-encoding");
  return encoding != nullptr && !encoding->empty() && *encoding != "identity";
}

// What an answer's bytes are: asked for from byte `asked` on, of a file of `size` bytes.
class AnswerPlace {
 public:
  AnswerPlace(std::uint64_t asked, std::uint64_t size) : asked_(asked), size_(size) {}

  // Where they begin. Throws UselessAnswer if that, or their number, cannot be right.
  std::uint64_t first_byte(const HttpAnswer& answer) const {
    if (is_encoded(answer.headers)) {  // places and lengths are those of the compressed bytes
      if (answer.status == 206) throw UselessAnswer{"the server sent a part of the file in compressed form"};
      return 0;
    }
    const std::string* length_header = answer.headers.find("content-length");
    const bool has_length = length_header != nullptr;
    const std::uint64_t length = has_length ? unsigned_number(*length_header).value_or(size_) : size_;
    const std::string* range_header = answer.headers.find("content-range");
    if (range_header != nullptr) return of_range(*range_header);  // whatever the status: mirrors send slices with 200
    if (answer.status == 206) return asked_;
    if (asked_ > 0 && has_length && length == size_ - asked_) return asked_;
    if (length != size_) {
      const std::string* type = answer.headers.find("content-type");
      const bool page = type != nullptr && type->starts_with("text/html");
      throw UselessAnswer{
          fmt::format("the server sends {}{} bytes, the listing says {}", page ? "a web page of " : "", length, size_)};
    }
    return 0;
  }

 private:
  std::uint64_t of_range(const std::string& header) const {
    const std::optional<ContentRange> range = parse_content_range(header);
    if (!range || !range->first) throw UselessAnswer{fmt::format("Content-Range is \"{:.60}\"", header)};
    if (range->total.value_or(size_) != size_ || *range->last >= size_) {
      throw UselessAnswer{fmt::format("Content-Range is \"{:.60}\", the listing says {} bytes", header, size_)};
    }
    return *range->first;
  }

  std::uint64_t asked_, size_;
};

class Download {
 public:
  Download(HttpClient& http, const HubClient& hub, const std::string& url, const std::string& name,
           PartialFile& partial, const std::function<void(std::uint64_t)>& held)
      : http_(http),
        hub_(hub),
        url_(url),
        name_(name),
        partial_(partial),
        held_(held),
        size_(partial.checksum().size) {}

  void run() {
    pieces_ = partial_.size() > 0 ? 1 : 0;
    most_held_ = partial_.size();
    held_(partial_.size());
    while (true) {
      if (!partial_.is_whole()) {
        attempt();
      } else if (partial_.is_right()) {
        return;
      } else if (!second_time_ && (pieces_ > 1 || partial_.unproven() || taken_over())) {
        second_time_ = true;
        most_held_ = 0;
        start_over();
      } else {
        refuse_sum();
      }
    }
  }

 private:
  bool taken_over() const { return pieces_ == 1 && !received_; }  // all bytes are another run's

  void start_over() {
    partial_.restart();
    pieces_ = 0;
    held_(0);
  }

  void attempt() {
    const std::uint64_t here = partial_.size(), asked = range_is_useless_ ? 0 : here;
    std::uint64_t skip = 0;
    const HttpClient::Sink sink{
        .begin =
            [&](const HttpAnswer& answer) {
              const std::uint64_t first = AnswerPlace(asked, size_).first_byte(answer);
              if (first > here) {
                throw UselessAnswer{fmt::format("the server sent bytes from {} on, not from {} on", first, asked)};
              }
              skip = here - first;
              pieces_++;
            },
        .bytes =
            [&](std::span<const std::byte> bytes) {
              const std::uint64_t skipped = std::min<std::uint64_t>(skip, bytes.size());
              skip -= skipped;
              bytes = bytes.subspan(skipped);
              const std::uint64_t lacking = size_ - partial_.size() - pending_.size();
              const std::uint64_t taken = std::min<std::uint64_t>(lacking, bytes.size());
              pending_.insert(pending_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
              if (taken == lacking || pending_.size() >= kWrittenAtOnce || Clock::now() > kept_at_ + kKeptInterval)
                keep();
              if (taken < bytes.size()) throw MoreThanNeeded{};
            },
    };
    try {
      const HttpClient::BodyEnd end = get_and_keep(asked, sink);
      judge(end, asked);
    } catch (const MoreThanNeeded&) {  // the sum decides whether these were the right ones
    } catch (const UselessAnswer& useless) {
      range_is_useless_ = here > 0 && !range_is_useless_;
      failed(useless.why, nullptr);
    }
  }

  // However it ends, what came is kept.
  HttpClient::BodyEnd get_and_keep(std::uint64_t asked, const HttpClient::Sink& sink) {
    try {
      HttpClient::BodyEnd end = http_.get_body(url_, asked, sink);
      keep();
      return end;
    } catch (const Error&) {  // perhaps of the disk
      throw;
    } catch (...) {
      keep();
      throw;
    }
  }

  void keep() {
    kept_at_ = Clock::now();
    if (pending_.empty()) return;
    partial_.append(pending_);
    pending_.clear();
    received_ = true;
    held_(partial_.size());
  }

  void judge(const HttpClient::BodyEnd& end, std::uint64_t asked) {
    const int status = end.answer.status;
    if (status == 200 || status == 206) {
      if (partial_.is_whole()) return;
      const std::string trouble =
          !end.complete ? end.trouble : fmt::format("the answer ended after {} of {} bytes", partial_.size(), size_);
      if (partial_.size() > most_held_) {
        most_held_ = partial_.size();
        failures_ = 0;
      }
      failed(trouble, &end.answer);
    } else if (status == 416 && asked > 0) {  // the server's file is shorter than what is here
      start_over();
      failed("the server does not have the bytes that are lacking (416)", &end.answer);
    } else if (status == 0) {
      lost_ = true;
      failed(end.trouble, nullptr);
    } else if (may_pass_later(status)) {
      if (failures_ + 1 >= http_.retry().tries) hub_.refuse(end.answer, "download of " + name_);
      failed(fmt::format("the server answers {}", status), &end.answer);
    } else {
      hub_.refuse(end.answer, "download of " + name_, size_);
    }
  }

  // Waits before the next attempt, or gives up.
  void failed(const std::string& trouble, const HttpAnswer* answer) {
    if (++failures_ < http_.retry().tries) {
      http_.wait_before_retry(failures_, answer, name_ + ": " + trouble);
      return;
    }
    ErrorText text{.what = "the download did not come through",
                   .where = name_ + " from " + shown_url(answer != nullptr ? answer->url : url_),
                   .expected = fmt::format("{} bytes", size_),
                   .found = fmt::format("{} of them after {} tries, at last: {}", partial_.size(), failures_, trouble),
                   .fix = "run it again; it goes on from what is here"};
    if (lost_) throw Unreachable(std::move(text));
    fail(std::move(text));
  }

  std::string sum_name() const { return partial_.checksum().kind == Digest::Kind::sha256 ? "sha256 " : "git sha1 "; }

  [[noreturn]] void refuse_sum() {
    ErrorText text{.what = "the bytes that came are not the file's",
                   .where = name_ + " from " + shown_url(url_),
                   .expected = sum_name() + partial_.checksum().hex,
                   .found = sum_name() + partial_.sum(),
                   .fix =
                       "run it again, which fetches this file afresh; if it stays so, the server or a proxy on the "
                       "way is to blame"};
    partial_.remove();
    fail(std::move(text));
  }

  HttpClient& http_;
  const HubClient& hub_;
  const std::string& url_;
  const std::string& name_;
  PartialFile& partial_;
  const std::function<void(std::uint64_t)>& held_;
  const std::uint64_t size_;
  std::vector<std::byte> pending_ = {};  // came, not yet in the file
  Clock::time_point kept_at_ = {};
  int failures_ = 0;
  int pieces_ = 0;            // answers, and an earlier run, whose bytes are held
  bool received_ = false;     // anything, in this run
  bool second_time_ = false;  // after a wrong sum
  bool range_is_useless_ = false;
  bool lost_ = false;  // a connection failed
  std::uint64_t most_held_ = 0;
};

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view header) {
  constexpr std::string_view unit = "bytes ";
  if (!header.starts_with(unit)) return std::nullopt;
  header.remove_prefix(unit.size());
  const std::size_t slash = header.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view place = header.substr(0, slash), whole = header.substr(slash + 1);
  ContentRange range;
  if (whole != "*" && !(range.total = unsigned_number(whole))) return std::nullopt;
  if (place != "*") {
    const std::size_t dash = place.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    range.first = unsigned_number(place.substr(0, dash));
    range.last = unsigned_number(place.substr(dash + 1));
    if (!range.first || !range.last || *range.last < *range.first) return std::nullopt;
    if (range.total && *range.last >= *range.total) return std::nullopt;
  }
  return range;
}

void download(HttpClient& http, const HubClient& hub, const std::string& url, const std::string& name,
              PartialFile& partial, const std::function<void(std::uint64_t)>& held) {
  Download(http, hub, url, name, partial, held).run();
}

}  // namespace tilewright::hub
