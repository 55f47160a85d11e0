// What a replay runs: the nodes of a graph laid out for the threads of one device, and the meeting points between them.
//
// Nodes are kept in the order in which they run, one after the other in memory: function, addresses, parameters. They
// form phases; a phase begins when the one before is complete. The blocks of a phase are divided among the workers once
// and for all (each keeps the same part of the tensors from replay to replay, as in launches: even workers at the lower
// end, odd ones at the upper), and a worker that is through with its share takes what others have not begun. Each
// worker has a cache line of its own, which says what of its share is taken and how many blocks it has finished; a
// phase is complete when these add up. So two workers meet in one write and one read each, as in a barrier, and nobody
// waits for a worker that never came: workers may enter a replay and leave it at any time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/host/execution_trace.h"
#include "backends/host/host_kernel.h"

namespace tilewright::backends::host {

class GraphProgram {
 public:
  struct Node {
    HostFunction function = nullptr;
    std::uint32_t grid = 1;  // 0: nothing runs
    bool ordered = false;
    std::vector<void*> addresses;
    std::vector<std::byte> parameters;
    const char* op = "";
    const char* path = "";
    const char* kernel = "";
    runtime::Cost cost;  // decides in what portions blocks are handed out; all zero: not known
  };
  // `phases`: indices of nodes, each of them exactly once. Nodes of one phase must not depend on each other.
  GraphProgram(std::vector<Node> nodes, std::vector<std::vector<int>> phases, int threads);
  GraphProgram(const GraphProgram&) = delete;
  GraphProgram& operator=(const GraphProgram&) = delete;

  int threads() const { return threads_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  // Whether a replay is under way or in a stream's queue. Several may be queued, on one stream.
  bool running() const { return queued_.load(std::memory_order_acquire) != 0; }

 private:
  friend class Executor;

  // Before its addresses and parameters in `records_`.
  struct Record {
    HostFunction function;
    std::uint32_t grid;
    std::uint32_t node;
    std::uint32_t bytes;                  // to the next record
    std::uint16_t addresses, parameters;  // bytes from here
    std::atomic<std::uint32_t> phase;     // HostCall::phase of nodes whose blocks several workers may run
  };
  // Blocks of one node within a share, or nodes that one worker runs one after the other, as one unit.
  struct Segment {
    std::uint32_t record = 0;      // in steps of kUnit bytes
    std::uint32_t first_unit = 0;  // within the share
    std::uint32_t units = 0;
    std::uint32_t first_block = 0, blocks_per_unit = 1;
    std::uint32_t serial = 0;  // how many nodes; 0: blocks of one
    bool from_above = false;   // the first unit is the uppermost
    bool ordered = false;
  };
  // What one worker runs of a phase if nobody else does.
  struct Share {
    std::uint32_t first_segment = 0, segments = 0;
    std::uint32_t units = 0;
    std::uint32_t least = 1;  // units to take at once, or more
    bool ordered = false;     // all take from the front, one by one
  };
  struct Phase {
    std::uint32_t first_record = 0, records = 0;
    bool has_words = false;  // HostCall::phase of its nodes may be left with a value
    bool ordered = false;    // all blocks of some node lie in one share, for all to take
  };
  struct Claim {
    std::uint32_t first = 0, count = 0;
  };
  // Of each worker. Others look at the first all the time while they wait, at the second only to help.
  struct Line {
    // Units finished, counted on over replays; written by its worker only.
    alignas(128) std::atomic<std::uint32_t> done{0};
    // Phase (counted on over replays), units taken from the front, from the back; written by whoever takes some.
    alignas(128) std::atomic<std::uint64_t> share{0};
  };
  // What the executor gives to each call.
  struct Surroundings {
    void (*fault)(const HostCall&, const char*, std::int64_t);
    void* device;
    int worker;
    bool traced;
  };
  struct alignas(64) Block {
    std::byte bytes[64];
  };
  static constexpr std::size_t kUnit = 16;  // records begin at multiples of it

  // Works on the replay. True if it is complete; false if there was nothing to do for a while (the caller may do
  // something else and come back). `worked` is set if something was run.
  bool run(const Surroundings& surroundings, bool& worked);
  void finish_replay();  // by one thread, after all have left
  void make_spans();     // before a traced replay is submitted
  std::vector<runtime::TraceRecord> take_records(const ExecutionTrace::Note& replay, int stream);
  void call(const Surroundings& surroundings, const Record& record, const HostCall& call);

  // Of the constructor.
  void lay_out(const std::vector<std::vector<int>>& phases);
  void add_phase(std::span<const int> nodes);
  void add_serial_phase(std::span<const int> nodes);
  void add_shares(const std::vector<std::vector<Segment>>& segments, const std::vector<double>& load);
  std::uint32_t add_record(int index, bool shared);
  bool runs_alone(std::span<const int> phase) const;
  const Node& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }

  // Records lie across blocks.
  std::byte* record_bytes() const { return reinterpret_cast<std::byte*>(const_cast<Block*>(records_.data())); }
  Record& record(std::uint32_t at) { return *reinterpret_cast<Record*>(record_bytes() + std::size_t{at} * kUnit); }
  const Share& share(std::uint32_t phase, int worker) const {
    return shares_[std::size_t{phase} * static_cast<std::size_t>(threads_) + static_cast<std::size_t>(worker)];
  }
  bool complete(std::uint32_t until) const;  // units finished have reached it
  std::uint32_t phase_reached(std::uint32_t base) const;
  static Claim claim(Line& line, std::uint32_t phase, const Share& share, bool own);
  static std::uint32_t portion(const Share& share, std::uint32_t remaining);
  Claim steal(std::uint32_t number, std::uint32_t phase, int worker, int& victim);
  bool give_back(Line& line, std::uint32_t phase, std::uint32_t count);
  void run_units(const Surroundings& surroundings, std::uint32_t phase, const Share& share, Claim claim);
  void run_blocks(const Surroundings& surroundings, Record& record, std::uint32_t begin, std::uint32_t end);
  void run_serially(const Surroundings& surroundings, std::uint32_t record, std::uint32_t count);
  void clear_words(const Phase& phase);
  void prefetch(std::uint32_t phase, int worker) const;

  const std::vector<Node> nodes_;
  const int threads_;
  std::vector<Block> records_;
  std::size_t record_bytes_ = 0;
  std::vector<Phase> phases_;
  std::vector<std::uint32_t> units_until_;  // of each phase: units up to its end
  std::vector<Share> shares_;               // of each phase and worker
  std::vector<Segment> segments_;
  std::vector<Line> lines_;  // of each worker
  std::uint32_t replays_ = 0;
  std::vector<TraceSpan> spans_;  // of each node, in traced replays
  alignas(64) std::atomic<int> queued_{0};
};

}  // namespace tilewright::backends::host
