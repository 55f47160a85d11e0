// Memory that was allocated in a capture: how long it lives, who may have its place, for whom it counts.
#include "runtime/cts/cts_helpers.h"

namespace tilewright::runtime::cts {
namespace {

std::string planned_memory_outlives_its_graph(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream();
  const std::size_t before = device->memory_stats().allocated;
  {
    const Tensor data = ints(*stream, 4096);
    stream->synchronize();
    Tensor kept;
    {
      stream->begin_capture();
      kept = empty(*stream, DType::i32, {4096});
      for (int i = 0; i < 8; ++i) {
        const Tensor temporary = empty(*stream, DType::i32, {4096});
        add_value(*stream, data, temporary, 1);
        add_value(*stream, temporary, kept, i);
      }
      const auto graph = device->instantiate(stream->end_capture());
      stream->replay(*graph);
    }
    const Tensor other = ints(*stream, 4096, 5), another = ints(*stream, 4096, 6);
    if (std::string wrong = expect_iota(*stream, kept, 8); !wrong.empty()) return wrong;
    add_value(*stream, kept, data, 1);
    if (std::string wrong = expect_iota(*stream, data, 9); !wrong.empty()) return wrong;
  }
  if (device->memory_stats().allocated != before) return "the arena is still allocated";
  return {};
}

// The arena belongs to the stream that began, whichever stream its blocks were allocated on.
std::string planned_memory_of_a_side_stream_is_not_reused_early(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream(), side = device->create_stream();
  const auto fork = device->create_event(), join = device->create_event();
  const Tensor data = ints(*stream, 4096), result = ints(*side, 4096);
  stream->synchronize();
  side->synchronize();
  {
    stream->begin_capture();
    stream->record(*fork);
    side->wait(*fork);
    const Tensor kept = empty(*side, DType::i32, {4096});
    add_value(*side, data, kept, 1);
    side->record(*join);
    stream->wait(*join);
    const auto graph = device->instantiate(stream->end_capture());
    stream->replay(*graph);
    stream->synchronize();
    busy(*side, 20000);
    add_value(*side, kept, result, 1);
  }
  const Tensor other = ints(*stream, 4096, 1000000);  // would land in the arena
  stream->synchronize();
  return expect_iota(*side, result, 2);
}

// Its arena is of the stream that captured, and may be wanted there while another one replays.
std::string a_graph_waits_for_its_replays(const Setup& setup) {
  const auto device = setup.open(0);
  const auto stream = device->create_stream(), elsewhere = device->create_stream();
  const Tensor data = ints(*stream, 4096), result = ints(*stream, 4096);
  stream->synchronize();
  {
    stream->begin_capture();
    const Tensor temporary = empty(*stream, DType::i32, {4096});
    for (int i = 0; i < 4; ++i) {
      add_value(*stream, data, temporary, 1);
      add_value(*stream, temporary, result, 1);
    }
    const auto graph = device->instantiate(stream->end_capture());
    busy(*elsewhere, 20000);
    elsewhere->replay(*graph);
  }
  const Tensor other = ints(*stream, 4096, 1000000);  // would land in the arena
  if (!elsewhere->query()) return "a graph is gone and its replay is not over";
  return expect_iota(*elsewhere, result, 2);
}

std::string memory_is_counted_per_stream(const Setup& setup) {
  const auto device = setup.open(0);
  const auto first = device->create_stream(), second = device->create_stream();
  const Tensor a = empty(*first, DType::u8, {3 << 20});
  if (first->memory_stats().allocated < (3 << 20) || first->memory_stats().reserved < (3 << 20))
    return "a block is not counted for its stream";
  if (second->memory_stats().allocated != 0) return "a block is counted for another stream";
  { const Tensor b = empty(*first, DType::u8, {8 << 20}); }
  if (first->memory_stats().peak < (11 << 20)) return "the peak is too low";
  first->reset_peak();
  if (first->memory_stats().peak != first->memory_stats().allocated) return "reset_peak keeps the peak";
  second->begin_capture();
  const Tensor c = empty(*second, DType::i32, {1 << 20});
  add_value(*second, c, c, 1);
  const auto graph = device->instantiate(second->end_capture());
  if (second->memory_stats().allocated < (4 << 20)) return "an arena is not counted for the stream captured on";
  return {};
}

}  // namespace

std::vector<Check> planned_memory_checks() {
  return {
      TW_CHECK_ROW(planned_memory_outlives_its_graph),
      TW_CHECK_ROW(planned_memory_of_a_side_stream_is_not_reused_early),
      TW_CHECK_ROW(a_graph_waits_for_its_replays),
      TW_CHECK_ROW(memory_is_counted_per_stream),
  };
}

}  // namespace tilewright::runtime::cts
