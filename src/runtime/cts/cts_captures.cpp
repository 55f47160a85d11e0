// What a capture and its replays must do.
#include <fmt/format.h>

#include <cstring>
#include <thread>

#include "runtime/cts/cts_helpers.h"

namespace tilewright::runtime::cts {
namespace {

std::string captured_work_does_not_run(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream();
  const Tensor data = ints(*stream, 5000);
  stream->begin_capture();
  if (stream->capture_status() != CaptureStatus::active) return "the stream does not say that it captures";
  add_value(*stream, data, data, 1);
  std::shared_ptr<Graph> graph = stream->end_capture();
  if (graph->nodes.size() != 1) return fmt::format("{} nodes", graph->nodes.size());
  if (std::string wrong = expect_iota(*stream, data, 0); !wrong.empty()) return "captured: " + wrong;
  const auto executable = device->instantiate(graph);
  if (std::string wrong = expect_iota(*stream, data, 0); !wrong.empty()) return "instantiated: " + wrong;
  for (int i = 1; i <= 3; ++i) {
    stream->replay(*executable);
    if (std::string wrong = expect_iota(*stream, data, i); !wrong.empty()) return wrong;
  }
  return {};
}

// A chain with temporaries that come and go, independent branches, and a state that lives from replay to replay.
void pass(Stream& stream, const Tensor& state, const Tensor& out) {
  const std::int64_t n = state.elements();
  Tensor hidden = empty(stream, DType::i32, {n});
  add_value(stream, state, hidden, 1);
  for (int layer = 0; layer < 12; ++layer) {
    Tensor left = empty(stream, DType::i32, {n}), right = empty(stream, DType::i32, {n});
    add_value(stream, hidden, left, layer);
    add_value(stream, hidden, right, 2 * layer);
    Tensor wide = empty(stream, DType::i32, {2 * n});
    add_value(stream, left, wide.slice(0, 0, n), 1);
    add_value(stream, right, wide.slice(0, n, 2 * n), 1);
    add_value(stream, wide.slice(0, n, 2 * n), left, -1);
    add_value(stream, wide.slice(0, 0, n), hidden, 0);
    add_value(stream, left, right, 5);
  }
  add_value(stream, hidden, state, 0);
  add_value(stream, hidden, out, 7);
}

std::string replays_equal_eager(const Setup& setup) {
  for (const std::int64_t n : {64, 1024, 70000}) {
    const auto device = setup.open(0);
    const auto stream = device->create_stream(), elsewhere = device->create_stream();
    const Tensor eager_state = ints(*stream, n), eager_out = ints(*stream, n), state = ints(*stream, n),
                 out = ints(*stream, n);
    stream->begin_capture();
    pass(*stream, state, out);
    const auto graph = device->instantiate(stream->end_capture());
    stream->synchronize();
    for (int i = 0; i < 5; ++i) {
      pass(*stream, eager_state, eager_out);
      const HostTensor wanted = to_host(*stream, eager_out);
      Stream& where = i % 2 ? *elsewhere : *stream;  // not only on the stream that captured
      where.replay(*graph);
      const HostTensor got = to_host(where, out);
      if (std::memcmp(wanted.bytes.data(), got.bytes.data(), wanted.bytes.size()) != 0)
        return fmt::format("replay {} of {} elements differs from eager", i, n);
    }
  }
  return {};
}

std::string plans_use_less_memory_and_fewer_barriers(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream();
  const Tensor state = ints(*stream, 4096), out = ints(*stream, 4096);
  stream->begin_capture();
  pass(*stream, state, out);
  const auto graph = device->instantiate(stream->end_capture());
  const GraphPlan& plan = graph->plan();
  if (plan.phases.size() + static_cast<std::size_t>(plan.barriers_removed) != graph->graph().nodes.size())
    return "phases and removed barriers do not sum to the nodes";
  if (plan.barriers_removed < 12) return fmt::format("{} barriers removed", plan.barriers_removed);
  if (plan.arena_bytes * 4 > plan.planned_bytes)
    return fmt::format("an arena of {} bytes for {}", plan.arena_bytes, plan.planned_bytes);
  return {};
}

// The side stream works at the same time as the first one, in every layer, and returns.
std::string side_streams_join(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream(), side = device->create_stream();
  const auto fork = device->create_event(), join = device->create_event();
  const Tensor data = ints(*stream, 4096);
  stream->synchronize();
  stream->begin_capture();
  for (int layer = 0; layer < 10; ++layer) {
    const Tensor left = empty(*stream, DType::i32, {4096});
    add_value(*stream, data, data, 1);
    stream->record(*fork);
    side->wait(*fork);
    const Tensor right = empty(*side, DType::i32, {4096});
    add_value(*side, data, right, 10);
    add_value(*stream, data, left, 100);
    side->record(*join);
    stream->wait(*join);
    add_value(*stream, right, data, 0);
  }
  if (side->capture_status() != CaptureStatus::active) return "the side stream does not take part";
  const std::shared_ptr<Graph> graph = stream->end_capture();
  if (side->capture_status() != CaptureStatus::none) return "the side stream still captures after the end";
  if (graph->nodes.size() != 40) return fmt::format("{} nodes", graph->nodes.size());
  const auto executable = device->instantiate(graph);
  for (int i = 1; i <= 3; ++i) {
    stream->replay(*executable);
    if (std::string wrong = expect_iota(*stream, data, 110 * i); !wrong.empty()) return wrong;
  }
  return {};
}

// Events order work even where no buffer says so.
std::string event_orders_are_kept(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream(), side = device->create_stream();
  const auto fork = device->create_event(), join = device->create_event();
  const Tensor a = ints(*stream, 16), b = ints(*stream, 16);
  stream->synchronize();
  stream->begin_capture();
  add_value(*stream, a, a, 1);  // 0
  stream->record(*fork);
  side->wait(*fork);
  for (int i = 0; i < 3; ++i) add_value(*side, b, b, 1);  // 1, 2, 3, after 0
  add_value(*stream, a, a, 1);                            // 4
  side->record(*join);
  stream->wait(*join);
  const Tensor c = empty(*stream, DType::i32, {16});
  add_value(*stream, a, c, 1);  // 5, after 3 and 4, although its data would let it run beside 2
  const auto graph = device->instantiate(stream->end_capture());
  std::vector<int> phase(6);
  for (std::size_t p = 0; p < graph->plan().phases.size(); ++p)
    for (const int node : graph->plan().phases[p].nodes) phase[static_cast<std::size_t>(node)] = static_cast<int>(p);
  if (phase[1] <= phase[0] || phase[5] <= phase[3] || phase[5] <= phase[4]) return "an order of events was dropped";
  return {};
}

std::string pinned_copies_are_captured(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream();
  const auto pinned = device->allocate_pinned(4096 * 4);
  auto* values = static_cast<std::int32_t*>(pinned.get());
  const Tensor data = ints(*stream, 4096);
  stream->synchronize();
  stream->begin_capture();
  stream->copy_from_host(data.memory(), 0, values, 4096 * 4, HostMemory::pinned);
  add_value(*stream, data, data, 3);
  stream->copy_to_host(values, data.memory(), 0, 4096 * 4, HostMemory::pinned);
  const auto graph = device->instantiate(stream->end_capture());
  for (int i = 0; i < 4096; ++i) values[i] = i;
  for (int round = 1; round <= 3; ++round) {
    stream->replay(*graph);
    stream->synchronize();
    if (device->computes() && (values[0] != 3 * round || values[4095] != 4095 + 3 * round))
      return fmt::format("got {} … {} in round {}", values[0], values[4095], round);
  }
  return {};
}

// Copies that meet in host memory alone.
std::string pinned_memory_orders_copies(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream();
  const auto pinned = device->allocate_pinned(4096 * 4);
  auto* values = static_cast<std::int32_t*>(pinned.get());
  const Tensor a = ints(*stream, 4096, 1), b = ints(*stream, 4096, 2), c = ints(*stream, 4096, 3);
  stream->synchronize();
  stream->begin_capture();
  stream->copy_to_host(values, a.memory(), 0, 4096 * 4, HostMemory::pinned);
  stream->copy_from_host(b.memory(), 0, values, 4096 * 4, HostMemory::pinned);
  stream->copy_to_host(values, c.memory(), 0, 4096 * 4, HostMemory::pinned);
  const auto graph = device->instantiate(stream->end_capture());
  if (graph->plan().phases.size() != 3) return fmt::format("{} phases of 3", graph->plan().phases.size());
  stream->replay(*graph);
  if (std::string wrong = expect_iota(*stream, b, 1); !wrong.empty()) return wrong;
  return device->computes() && values[4095] != 4095 + 3 ? "the last copy is not the last" : "";
}

std::string several_graphs_share_buffers(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream();
  const Tensor data = ints(*stream, 3000);
  std::vector<std::unique_ptr<ExecutableGraph>> graphs;
  for (int value = 1; value <= 3; ++value) {
    stream->begin_capture();
    const Tensor temporary = empty(*stream, DType::i32, {3000});
    add_value(*stream, data, temporary, value);
    add_value(*stream, temporary, data, 0);
    graphs.push_back(device->instantiate(stream->end_capture()));
  }
  std::int32_t sum = 0;
  for (int i = 0; i < 30; ++i) {
    stream->replay(*graphs[static_cast<std::size_t>(i % 3)]);
    add_value(*stream, data, data, 10);  // launches in between keep their place
    sum += i % 3 + 1 + 10;
  }
  graphs.erase(graphs.begin());  // while its replays may be under way
  return expect_iota(*stream, data, sum);
}

std::string threads_capture_at_the_same_time(const Setup& setup) {
  const auto device = setup.open(0);
  const CaptureMode modes[] = {CaptureMode::global, CaptureMode::thread_local_only, CaptureMode::relaxed};
  std::string wrong[3];
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const auto stream = device->create_stream();
      const Tensor data = empty(*stream, DType::i32, {2048});
      for (int round = 0; round < 20; ++round) {
        stream->begin_capture(modes[t]);
        for (int i = 0; i < 10; ++i) add_value(*stream, data, data, 1);
        const std::shared_ptr<Graph> graph = stream->end_capture();
        if (graph->nodes.size() != 10) wrong[t] = fmt::format("{} nodes of 10", graph->nodes.size());
        const auto executable = device->instantiate(graph);
        stream->replay(*executable);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong)
    if (!text.empty()) return text;
  return {};
}

// A capture bars nothing on another device.
std::string devices_capture_by_themselves(const Setup& setup) {
  const auto first = setup.open(0), second = setup.open(0);
  const auto a = first->create_stream(), b = second->create_stream();
  const Tensor left = ints(*a, 2000), right = ints(*b, 2000);
  a->synchronize();
  a->begin_capture(CaptureMode::global);
  add_value(*a, left, left, 1);
  const Tensor more = ints(*b, 2000, 5);  // copies pageable memory
  b->begin_capture(CaptureMode::global);
  add_value(*b, right, right, 2);
  const auto other = second->instantiate(b->end_capture());
  b->replay(*other);
  second->synchronize();
  add_value(*a, left, left, 1);
  const auto graph = first->instantiate(a->end_capture());
  a->replay(*graph);
  if (std::string wrong = expect_iota(*b, right, 2); !wrong.empty()) return wrong;
  return expect_iota(*a, left, 2);
}

std::string replays_need_no_memory(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream();
  const Tensor state = ints(*stream, 64), out = ints(*stream, 64);
  stream->begin_capture();
  pass(*stream, state, out);
  const auto graph = device->instantiate(stream->end_capture());
  stream->replay(*graph);
  stream->synchronize();
  const MemoryStats before = device->memory_stats(), own = stream->memory_stats();
  if (own.allocated == 0 || own.reserved == 0) return "the arena is not counted for the stream";
  for (int i = 1; i < 10000; ++i) stream->replay(*graph);
  stream->synchronize();
  const MemoryStats after = device->memory_stats();
  if (after.reserved != before.reserved || after.allocated != before.allocated || after.peak != before.peak)
    return fmt::format("reserved {} before, {} after", before.reserved, after.reserved);
  // Each replay adds 1 + (0 + 1 + … + 11) + 12.
  return expect_iota(*stream, state, 10000 * (1 + 66 + 12));
}

std::string empty_graphs_replay(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream();
  stream->begin_capture();
  stream->submit(launch_of(*device, "cts.empty", 0));
  const auto graph = device->instantiate(stream->end_capture());
  for (int i = 0; i < 10; ++i) stream->replay(*graph);
  stream->synchronize();
  return {};
}

std::string ordered_launches_stay_whole(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream();
  const Tensor sum = to_device(*stream, HostTensor(DType::i32, {1}));
  const Tensor data = ints(*stream, 20000);
  stream->synchronize();
  stream->begin_capture();
  for (int i = 0; i < 20; ++i) {
    Launch launch = launch_of(*device, "cts.phases", 16);
    launch.ordered = true;
    launch.add_buffer(read_write_arg(sum));
    stream->submit(launch);
    add_value(*stream, data, data, 1);
  }
  const auto graph = device->instantiate(stream->end_capture());
  for (int i = 0; i < 20; ++i) stream->replay(*graph);
  const HostTensor host = to_host(*stream, sum);
  if (device->computes() && host.data<std::int32_t>()[0] != 400 * 120)
    return fmt::format("sum is {}", host.data<std::int32_t>()[0]);
  return expect_iota(*stream, data, 400);
}

// As in streams: a free worker runs them alone.
std::string ordered_replays_need_no_waiting_caller(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream();
  const Tensor sum = to_device(*stream, HostTensor(DType::i32, {1}));
  stream->synchronize();
  stream->begin_capture();
  Launch launch = launch_of(*device, "cts.phases", 16);
  launch.ordered = true;
  launch.add_buffer(read_write_arg(sum));
  stream->submit(launch);
  const auto graph = device->instantiate(stream->end_capture());
  for (int replay = 0; replay < 3; ++replay) {
    stream->replay(*graph);
    for (int i = 0; i < 5000 && !stream->query(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!stream->query()) return "blocks wait for lower ones that were not started";
  }
  return {};
}

std::string traces_name_launches_and_nodes(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream();
  const Tensor data = ints(*stream, 3000);
  stream->begin_capture();
  add_value(*stream, data, data, 1, "mul", "layers.0");
  add_value(*stream, data, data, 1, "add", "layers.1");
  const auto graph = device->instantiate(stream->end_capture());
  stream->replay(*graph);
  device->start_trace();
  const double begin = device->now();
  add_value(*stream, data, data, 1, "norm", "model");
  stream->replay(*graph);
  stream->replay(*graph);
  const std::vector<TraceRecord> records = device->stop_trace();
  const char* ops[] = {"norm", "mul", "add", "mul", "add"};
  const char* paths[] = {"model", "layers.0", "layers.1", "layers.0", "layers.1"};
  const int replays[] = {-1, 0, 0, 1, 1};
  if (records.size() != 5) return fmt::format("{} records of 5", records.size());
  double last = begin;
  for (std::size_t i = 0; i < 5; ++i) {
    const TraceRecord& r = records[i];
    if (std::string(r.op) != ops[i] || std::string(r.path) != paths[i] || r.replay != replays[i])
      return fmt::format("record {} is {}, {}, replay {}", i, r.op, r.path, r.replay);
    if (r.submitted < begin || r.started < r.submitted || r.finished < r.started || r.started < last)
      return fmt::format("record {}: submitted {}, started {}, finished {}", i, r.submitted, r.started, r.finished);
    last = r.finished;
  }
  add_value(*stream, data, data, 1);
  if (!device->stop_trace().empty()) return "launches are recorded without a trace";
  return expect_iota(*stream, data, 8);
}

std::string faults_of_replays_are_sticky(const Setup& setup) {
  const auto device = setup.open(0);
  if (!device->computes()) return {};
  const auto stream = device->create_stream();
  stream->begin_capture();
  stream->submit(launch_of(*device, "cts.fault"));
  const auto graph = device->instantiate(stream->end_capture());
  stream->replay(*graph);
  try {
    stream->synchronize();
  } catch (const std::exception& e) {
    return std::string(e.what()).find("planted fault: 7") == std::string::npos ? e.what() : "";
  }
  return "a fault did not rise at synchronize";
}

}  // namespace

std::vector<Check> capture_checks() {
  return {
      TW_CHECK_ROW(captured_work_does_not_run),
      TW_CHECK_ROW(replays_equal_eager),
      TW_CHECK_ROW(plans_use_less_memory_and_fewer_barriers),
      TW_CHECK_ROW(side_streams_join),
      TW_CHECK_ROW(event_orders_are_kept),
      TW_CHECK_ROW(pinned_copies_are_captured),
      TW_CHECK_ROW(pinned_memory_orders_copies),
      TW_CHECK_ROW(several_graphs_share_buffers),
      TW_CHECK_ROW(threads_capture_at_the_same_time),
      TW_CHECK_ROW(devices_capture_by_themselves),
      TW_CHECK_ROW(replays_need_no_memory),
      TW_CHECK_ROW(empty_graphs_replay),
      TW_CHECK_ROW(ordered_launches_stay_whole),
      TW_CHECK_ROW(ordered_replays_need_no_waiting_caller),
      TW_CHECK_ROW(traces_name_launches_and_nodes),
      TW_CHECK_ROW(faults_of_replays_are_sticky),
  };
}

}  // namespace tilewright::runtime::cts
