// Times every launch of a pass with events on the device's clock.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "ops/core/observer.h"
#include "report/table.h"
#include "runtime/device.h"

namespace tilewright::bench {

// An event before each launch: the time between two events is a launch and the bubble behind it. Watch a context with
// it, and call finish_pass after each pass, when the stream has been synchronized.
class LaunchTimer : public ops::Observer {
 public:
  enum class By { op, path };
  explicit LaunchTimer(runtime::Stream& stream, By by = By::op) : stream_(stream), by_(by) {}

  struct Row {
    double seconds = 0, flops = 0, bytes = 0;
    long launches = 0;
  };

  void launched(const runtime::Launch& launch) override {
    mark();
    pending_.push_back({key(launch), launch.cost});
  }

  void finish_pass() {
    mark();
    stream_.synchronize();
    std::map<std::string, Row> rows;
    double total = 0;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      Row& row = rows[pending_[i].key];
      const double seconds = events_[i + 1]->seconds_since(*events_[i]);
      total += seconds;
      row.seconds += seconds;
      row.flops += pending_[i].cost.flops;
      row.bytes += pending_[i].cost.bytes_read + pending_[i].cost.bytes_written;
      ++row.launches;
    }
    last_ = std::move(rows);
    if (rows_.empty() || total < total_) {
      total_ = total;
      rows_ = last_;
    }
    restart();
  }
  // By op or path, of the last pass that was finished; tables and `json` show the quickest one.
  const std::map<std::string, Row>& last() const { return last_; }
  // Forgets everything, also a pass that was not finished.
  void clear() {
    rows_.clear();
    restart();
  }

  long launches_per_pass() const {
    long launches = 0;
    for (const auto& [name, row] : rows_) launches += row.launches;
    return launches;
  }

  // Longest first, the rest summed up in one row.
  std::string table(int most_rows) const {
    std::vector<std::pair<std::string, Row>> sorted(rows_.begin(), rows_.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    using report::Align;
    report::Table table({{by_ == By::op ? "op" : "module, op"},
                         {"launches", Align::right},
                         {"ms", Align::right},
                         {"share", Align::right},
                         {"us each", Align::right},
                         {"GB/s", Align::right},
                         {"GFLOP/s", Align::right}});
    const auto add = [&](const std::string& name, const Row& row) {
      table.add_row({name, std::to_string(row.launches), fmt::format("{:.3f}", 1e3 * row.seconds),
                     fmt::format("{:.1f}%", 100 * row.seconds / total_),
                     fmt::format("{:.2f}", 1e6 * row.seconds / static_cast<double>(row.launches)),
                     fmt::format("{:.1f}", row.bytes / row.seconds / 1e9),
                     fmt::format("{:.1f}", row.flops / row.seconds / 1e9)});
    };
    Row rest;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (static_cast<int>(i) < most_rows) {
        add(sorted[i].first, sorted[i].second);
      } else {
        rest.seconds += sorted[i].second.seconds;
        rest.flops += sorted[i].second.flops;
        rest.bytes += sorted[i].second.bytes;
        rest.launches += sorted[i].second.launches;
      }
    }
    if (rest.launches) add("others", rest);
    return table.text();
  }

  // {name: {ms, launches, share}}
  Json json() const {
    Json out = Json::object();
    for (const auto& [name, row] : rows_)
      out[name] = {{"ms", 1e3 * row.seconds}, {"launches", row.launches}, {"share", row.seconds / total_}};
    return out;
  }

 private:
  struct Pending {
    std::string key;
    runtime::Cost cost;
  };

  std::string key(const runtime::Launch& launch) const {
    if (by_ == By::op) return launch.op;
    std::string out;
    for (const char* p = launch.path; *p; ++p) {  // layers share a row
      if (*p < '0' || *p > '9')
        out += *p;
      else if (out.empty() || out.back() != '*')
        out += '*';
    }
    return out + " " + launch.op;
  }

  void mark() {
    if (used_ == events_.size()) events_.push_back(stream_.device().create_event());
    stream_.record(*events_[used_++]);
  }
  void restart() {
    used_ = 0;
    pending_.clear();
  }

  runtime::Stream& stream_;
  By by_;
  std::vector<std::unique_ptr<runtime::Event>> events_;
  std::size_t used_ = 0;
  std::vector<Pending> pending_;
  std::map<std::string, Row> rows_, last_;
  double total_ = 0;
};

}  // namespace tilewright::bench
