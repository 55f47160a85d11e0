#include "report/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "base/json.h"
#include "base/mapped_file.h"
#include "report/units.h"

namespace tilewright::report {
namespace {

// Layers of the profiler's pages: its composite process number is pid << 10 | layer << 5 | device.
enum class Layer { framework = 6, cann = 7, hardware = 14 };

int process_of(std::size_t arm, Layer layer) { return static_cast<int>(arm + 1) << 10 | static_cast<int>(layer) << 5; }

std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

// Microseconds with nanoseconds, as text: a double of JSON loses them after some days of uptime.
std::string microseconds(double seconds) { return fmt::format("{:.3f}", std::isfinite(seconds) ? seconds * 1e6 : 0.0); }

class Writer {
 public:
  explicit Writer(std::ostream& out) : out_(out) { out_ << "["; }
  void end() { out_ << "\n]\n"; }

  void arm(std::size_t number, const TraceArm& arm) {
    start_ = 0;
    bool first = true;
    for (const TraceEvent& e : arm.events) {
      const double begin = e.lane == "host" ? e.started : std::min(e.submitted, e.started);
      if (std::isfinite(begin) && (first || begin < start_)) start_ = begin, first = false;
    }
    name_rows(number, arm);
    for (const TraceEvent& e : arm.events) e.lane == "host" ? host_work(number, e) : launch(number, e);
  }

 private:
  void raw(const std::string& text) { out_ << (count_++ ? ",\n" : "\n") << text; }

  void meta(int process, const char* what, const std::string& arguments, int thread = 0) {
    raw(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{{}}}}})", what, process, thread, arguments));
  }

  void name_rows(std::size_t number, const TraceArm& arm) {
    struct {
      Layer layer;
      const char* name;
      const char* label;
      const char* thread;
    } const layers[] = {{Layer::framework, "Host", "CPU", "Thread"},
                        {Layer::cann, "Submission", "CPU", "Stream"},
                        {Layer::hardware, "Device", "NPU", "Stream"}};
    for (const auto& [layer, name, label, thread] : layers) {
      std::set<int> rows;
      for (const TraceEvent& e : arm.events)
        if ((e.lane == "host") == (layer == Layer::framework)) rows.insert(e.stream);
      if (rows.empty()) continue;
      const int process = process_of(number, layer);
      meta(process, "process_name", "\"name\":" + quoted(arm.name + ": " + name));
      meta(process, "process_labels", fmt::format("\"labels\":\"{}\"", label));
      meta(process, "process_sort_index",
           fmt::format("\"sort_index\":{}", static_cast<int>(number) * 32 + static_cast<int>(layer)));
      for (const int row : rows) {
        meta(process, "thread_name", fmt::format("\"name\":\"{} {}\"", thread, row), row);
        meta(process, "thread_sort_index", fmt::format("\"sort_index\":{}", row), row);
      }
    }
  }

  void span(int process, int thread, const std::string& name, double from, double to, const std::string& arguments) {
    const double length = std::isfinite(to - from) ? std::max(0.0, to - from) : 0.0;
    raw(fmt::format(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":"{}","dur":{},"args":{{{}}}}})", quoted(name),
                    process, thread, microseconds(from - start_), microseconds(length), arguments));
  }

  void host_work(std::size_t number, const TraceEvent& e) {
    span(process_of(number, Layer::framework), e.stream, e.op, e.started, e.finished, "\"path\":" + quoted(e.path));
  }

  void launch(std::size_t number, const TraceEvent& e) {
    const std::uint64_t flow = ++flows_;
    const int host = process_of(number, Layer::cann), device = process_of(number, Layer::hardware);
    const std::string connection = fmt::format("\"connection_id\":{}", flow);
    span(host, e.stream, e.op, e.submitted, e.submitted, connection);
    std::string arguments =
        fmt::format(R"("Model Id":{},"Task Type":"{}","Physic Stream Id":{},"Task Id":{},{},"Block Num":{})",
                    e.replay < 0 ? 4294967295u : static_cast<unsigned>(e.replay),
                    e.replay < 0 ? "KERNEL" : "GRAPH_NODE", e.stream, flow, connection, e.grid);
    arguments += ",\"path\":" + quoted(e.path) + ",\"kernel\":" + quoted(e.kernel);
    arguments += fmt::format(R"json(,"bytes":{},"flops":{},"Wait Time(us)":{})json", whole(e.bytes), whole(e.flops),
                             microseconds(std::max(0.0, e.started - e.submitted)));
    span(device, e.stream, e.op, e.started, e.finished, arguments);
    flow_end("s", flow, host, e.stream, e.submitted);
    flow_end("f", flow, device, e.stream, e.started);
  }

  static std::string whole(double value) { return std::isfinite(value) ? fmt::format("{:.0f}", value) : "null"; }

  void flow_end(const char* phase, std::uint64_t id, int process, int thread, double at) {
    raw(fmt::format(
        R"({{"ph":"{}",{}"id":"{}","name":"HostToDevice","cat":"HostToDevice","pid":{},"tid":{},"ts":"{}"}})", phase,
        *phase == 'f' ? "\"bp\":\"e\"," : "", id, process, thread, microseconds(at - start_)));
  }

  std::ostream& out_;
  std::uint64_t count_ = 0, flows_ = 0;
  double start_ = 0;
};

}  // namespace

void write_trace(std::ostream& out, const std::vector<TraceArm>& arms) {
  Writer writer(out);
  for (std::size_t i = 0; i < arms.size(); ++i) writer.arm(i, arms[i]);
  writer.end();
}

void write_trace(const std::filesystem::path& path, const std::vector<TraceArm>& arms) {
  write_file_atomically(path, [&](std::ostream& out) { write_trace(out, arms); });
}

}  // namespace tilewright::report
