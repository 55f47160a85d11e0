#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "backends/host/graph_program.h"
#include "base/error.h"

namespace tilewright::backends::host {
namespace {

// What one worker gets done in a nanosecond, on the fast side: only the size of portions depends on it.
constexpr double kBytesPerNs = 12, kFlopsPerNs = 24, kMatrixFlopsPerNs = 80;
constexpr double kUnknownUnitNs = 500;
constexpr double kSmallShareNs = 4000;  // taken in one go: others could not save much
constexpr double kLeastPortionNs = 1000;
constexpr double kAloneNs = 150;            // a phase of less work than meeting costs is run by one worker
constexpr std::uint32_t kMostUnits = 4096;  // of a node
constexpr std::uint32_t kMostPhaseUnits = 0xffff;
constexpr std::size_t kMostPhaseNodes = 0x4000;
constexpr std::uint32_t kReplaysToWrap = 100;

double nanoseconds(const runtime::Cost& cost) {
  const double rate = cost.unit == runtime::Unit::matrix ? kMatrixFlopsPerNs : kFlopsPerNs;
  return std::max((cost.bytes_read + cost.bytes_written) / kBytesPerNs, cost.flops / rate);
}

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// Workers in the order of the parts they get: even ones from the lower end, odd ones from the upper.
std::vector<int> workers_from_below(int threads) {
  std::vector<int> workers;
  for (int worker = 0; worker < threads; worker += 2) workers.push_back(worker);
  for (int worker = threads - 1 - threads % 2; worker > 0; worker -= 2) workers.push_back(worker);
  return workers;
}

}  // namespace

GraphProgram::GraphProgram(std::vector<Node> nodes, std::vector<std::vector<int>> phases, int threads)
    : nodes_(std::move(nodes)), threads_(threads), lines_(static_cast<std::size_t>(threads)) {
  TW_CHECK(threads >= 1);
  std::vector<char> seen(nodes_.size(), 0);
  std::size_t count = 0, bytes = sizeof(Block);
  for (const auto& phase : phases)
    for (int node : phase) {
      TW_CHECK(node >= 0 && static_cast<std::size_t>(node) < nodes_.size() && !seen[static_cast<std::size_t>(node)]);
      seen[static_cast<std::size_t>(node)] = 1;
      const Node& n = nodes_[static_cast<std::size_t>(node)];
      bytes += 2 * sizeof(Block) + n.addresses.size() * sizeof(void*) + rounded_up(n.parameters.size(), 16);
      ++count;
    }
  TW_CHECK(count == nodes_.size());
  records_ = std::vector<Block>(bytes / sizeof(Block) + 1);
  lay_out(phases);
  if (phases_.empty()) return;
  // As if the counters had run for long: they wrap early in every program's life, and not once in a blue moon.
  replays_ = 0u - kReplaysToWrap;
  lines_[0].done.store(replays_ * units_until_.back(), std::memory_order_relaxed);
  const std::uint64_t phase = replays_ * static_cast<std::uint32_t>(phases_.size());
  for (Line& line : lines_) line.share.store(phase << 32, std::memory_order_relaxed);
}

void GraphProgram::lay_out(const std::vector<std::vector<int>>& phases) {
  std::vector<int> alone;  // consecutive nodes that one worker runs one after the other
  const auto end_of_alone = [&] {
    if (!alone.empty()) add_serial_phase(alone);
    alone.clear();
  };
  for (const std::vector<int>& all : phases) {
    std::vector<int> nodes;
    for (int node : all)
      if (this->node(node).grid) nodes.push_back(node);
    if (nodes.empty()) continue;
    if (runs_alone(nodes)) {
      alone.insert(alone.end(), nodes.begin(), nodes.end());
      continue;
    }
    end_of_alone();
    for (std::size_t begin = 0; begin < nodes.size(); begin += kMostPhaseNodes)
      add_phase(std::span(nodes).subspan(begin, std::min(kMostPhaseNodes, nodes.size() - begin)));
  }
  end_of_alone();
}

bool GraphProgram::runs_alone(std::span<const int> phase) const {
  if (threads_ == 1 || (phase.size() == 1 && node(phase[0]).grid == 1)) return true;
  double sum = 0;
  for (int n : phase) {
    const double time = nanoseconds(node(n).cost);
    if (time == 0) return false;
    sum += time;
  }
  return sum <= kAloneNs;
}

std::uint32_t GraphProgram::add_record(int index, bool shared) {
  const Node& from = node(index);
  // What blocks write to together does not lie in the line of what all of them read.
  const std::size_t addresses = shared ? sizeof(Block) : sizeof(Record);
  const std::size_t parameters = rounded_up(addresses + from.addresses.size() * sizeof(void*), 16);
  const std::size_t bytes = rounded_up(parameters + from.parameters.size(), 16);
  TW_CHECK(record_bytes_ + bytes <= records_.size() * sizeof(Block) && parameters <= UINT16_MAX);
  std::byte* at = record_bytes() + record_bytes_;
  auto* record = new (at) Record{};
  record->function = from.function;
  record->grid = from.grid;
  record->node = static_cast<std::uint32_t>(index);
  record->bytes = static_cast<std::uint32_t>(bytes);
  record->addresses = static_cast<std::uint16_t>(addresses);
  record->parameters = static_cast<std::uint16_t>(parameters);
  if (!from.addresses.empty())
    std::memcpy(at + addresses, from.addresses.data(), from.addresses.size() * sizeof(void*));
  if (!from.parameters.empty()) std::memcpy(at + parameters, from.parameters.data(), from.parameters.size());
  const auto offset = static_cast<std::uint32_t>(record_bytes_ / kUnit);
  record_bytes_ += bytes;
  return offset;
}

void GraphProgram::add_serial_phase(std::span<const int> nodes) {
  Segment segment{.units = 1, .serial = static_cast<std::uint32_t>(nodes.size())};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint32_t record = add_record(nodes[i], false);
    if (i == 0) segment.record = record;
  }
  phases_.push_back({.first_record = segment.record, .records = segment.serial, .has_words = false});
  std::vector<std::vector<Segment>> segments(static_cast<std::size_t>(threads_));
  segments[0].push_back(segment);
  add_shares(segments, {});
}

void GraphProgram::add_phase(std::span<const int> nodes) {
  const auto count = static_cast<std::uint32_t>(nodes.size()), threads = static_cast<std::uint32_t>(threads_);
  const std::uint32_t most = std::clamp(kMostPhaseUnits / count, 1u, kMostUnits);
  const std::vector<int> workers = workers_from_below(threads_);
  std::vector<std::vector<Segment>> segments(threads);
  std::vector<double> load(threads);
  Phase phase{.first_record = 0, .records = count, .has_words = true};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = node(nodes[i]);
    Segment segment{.record = add_record(nodes[i], true)};
    if (i == 0) phase.first_record = segment.record;
    phase.ordered |= n.ordered;
    segment.blocks_per_unit = (n.grid + most - 1) / most;
    const std::uint32_t units = (n.grid + segment.blocks_per_unit - 1) / segment.blocks_per_unit;
    const double time = nanoseconds(n.cost), unit_time = time > 0 ? time / units : kUnknownUnitNs;
    // What cannot be divided evenly goes to those who have least so far.
    std::vector<std::uint32_t> part(threads, n.ordered ? 0 : units / threads);
    for (std::uint32_t w = 0; w < threads; ++w) load[w] += part[w] * unit_time;
    for (std::uint32_t left = units - part[0] * threads; left > 0;) {
      const auto least = std::min_element(load.begin(), load.end()) - load.begin();
      const std::uint32_t some = n.ordered ? left : 1;
      part[static_cast<std::size_t>(least)] += some;
      load[static_cast<std::size_t>(least)] += some * unit_time;
      left -= some;
    }
    for (int worker : workers) {
      const auto w = static_cast<std::size_t>(worker);
      segment.units = part[w];
      segment.ordered = n.ordered;
      segment.from_above = !n.ordered && worker % 2 == 1;
      if (segment.units) segments[w].push_back(segment);
      segment.first_block += part[w] * segment.blocks_per_unit;
    }
  }
  phases_.push_back(phase);
  add_shares(segments, load);
}

void GraphProgram::add_shares(const std::vector<std::vector<Segment>>& segments, const std::vector<double>& load) {
  std::uint32_t all = units_until_.empty() ? 0 : units_until_.back();
  for (std::size_t worker = 0; worker < segments.size(); ++worker) {
    Share share{.first_segment = static_cast<std::uint32_t>(segments_.size()),
                .segments = static_cast<std::uint32_t>(segments[worker].size())};
    for (Segment segment : segments[worker]) {
      segment.first_unit = share.units;
      share.units += segment.units;
      share.ordered |= segment.ordered;
      segments_.push_back(segment);
    }
    const double time = load.empty() ? 0 : load[worker];
    if (share.ordered)
      share.least = 1;
    else if (time <= kSmallShareNs)
      share.least = std::max(1u, share.units);
    else
      share.least = std::max(1u, static_cast<std::uint32_t>(kLeastPortionNs / time * share.units));
    TW_CHECK(share.units <= kMostPhaseUnits);
    all += share.units;
    shares_.push_back(share);
  }
  TW_CHECK(all < 1u << 30);
  units_until_.push_back(all);
}

}  // namespace tilewright::backends::host
