// Allocation, copies, imported memory.
#include <fmt/format.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "runtime/cts/cts_helpers.h"

namespace tilewright::runtime::cts {
namespace {

std::string memory_is_counted_and_cached(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const std::size_t before = device->memory_stats().allocated;
  {
    const Tensor a = empty(stream, DType::u8, {3 << 20});
    if (device->memory_stats().allocated < before + (3 << 20)) return "live memory is not counted";
  }
  if (device->memory_stats().allocated != before) return "freed memory is still counted";
  if (device->memory_stats().peak < before + (3 << 20)) return "the peak forgot a freed block";
  device->reset_peak();
  if (device->memory_stats().peak != before) return "reset_peak keeps the old peak";
  const std::size_t reserved = device->memory_stats().reserved;
  for (int i = 0; i < 1000; ++i) const Tensor a = empty(stream, DType::u8, {3 << 20});
  if (device->memory_stats().reserved != reserved) return "memory grows although blocks are freed";
  device->trim();
  if (device->memory_stats().reserved > reserved - (3 << 20)) return "trim gives nothing back";
  const Tensor nothing = empty(stream, DType::f32, {0});
  return nothing.defined() ? "" : "an empty tensor has no memory";
}

std::string freed_memory_is_reused_in_order(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const Tensor result = ints(stream, 4096);
  for (int i = 0; i < 100; ++i) {
    const Tensor temporary = empty(stream, DType::i32, {4096});
    add_value(stream, result, temporary, 1);
    add_value(stream, temporary, result, 0);
  }
  return expect_iota(stream, result, 100);
}

std::string memory_used_by_another_stream_is_not_reused_early(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& first = device->default_stream();
  const auto second = device->create_stream();
  const Tensor result = empty(*second, DType::i32, {4096});
  {
    const Tensor source = ints(first, 4096);
    first.synchronize();
    busy(*second, 20000);
    add_value(*second, source, result, 5);
  }
  const Tensor other = ints(first, 4096, 1000000);  // would land in the freed block
  first.synchronize();
  return expect_iota(*second, result, 5);
}

// Not the last one alone that used it.
std::string memory_used_by_several_other_streams_is_not_reused_early(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& first = device->default_stream();
  const auto slow = device->create_stream(), quick = device->create_stream();
  const Tensor result = empty(*slow, DType::i32, {4096}), copy = empty(*quick, DType::i32, {4096});
  const std::size_t before = device->memory_stats().allocated;
  {
    const Tensor source = ints(first, 4096);
    first.synchronize();
    busy(*slow, 50000);
    add_value(*slow, source, result, 5);
    add_value(*quick, source, copy, 6);
    quick->synchronize();
  }
  {
    const Tensor other = ints(first, 4096, 1000000);  // would land in the freed block
    first.synchronize();
    if (std::string wrong = expect_iota(*slow, result, 5); !wrong.empty()) return wrong;
    if (std::string wrong = expect_iota(*quick, copy, 6); !wrong.empty()) return wrong;
  }
  { const Tensor another = empty(first, DType::u8, {1}); }  // what was put off comes back
  return device->memory_stats().allocated == before ? "" : "the block was lost";
}

std::string copies_return_when_pageable_memory_may_change(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  for (const std::int64_t count : {1, 100, 5000000}) {
    Values values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 3);
    const Tensor t = empty(stream, DType::i32, {count});
    busy(stream, 2000);
    stream.copy_from_host(t.memory(), 0, values.data(), values.size() * 4);
    std::fill(values.begin(), values.end(), -1);
    if (std::string wrong = expect_iota(stream, t, 3); !wrong.empty()) return wrong;
  }
  return {};
}

std::string pinned_copies_are_ordered(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const auto pinned = device->allocate_pinned(4096 * 4);
  auto* values = static_cast<std::int32_t*>(pinned.get());
  std::iota(values, values + 4096, 0);
  const Tensor t = empty(stream, DType::i32, {4096});
  stream.copy_from_host(t.memory(), 0, values, 4096 * 4, HostMemory::pinned);
  add_value(stream, t, t, 2);
  stream.copy_to_host(values, t.memory(), 0, 4096 * 4, HostMemory::pinned);
  stream.synchronize();
  if (device->computes() && (values[0] != 2 || values[4095] != 4097))
    return fmt::format("got {} … {}", values[0], values[4095]);
  return {};
}

std::string imported_memory_is_released_after_its_use(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  auto values = std::make_unique<Values>(4096);
  std::iota(values->begin(), values->end(), 0);
  std::atomic<bool> released{false};
  const Tensor result = empty(stream, DType::i32, {4096});
  {
    void* data = values->data();
    const Tensor imported(device->import_memory(data, 4096 * 4,
                                                [&] {
                                                  std::fill(values->begin(), values->end(), -1);
                                                  released = true;
                                                }),
                          DType::i32, {4096});
    busy(stream, 20000);
    add_value(stream, imported, result, 1);
  }
  if (std::string wrong = expect_iota(stream, result, 1); !wrong.empty()) return wrong;
  device->trim();
  return released ? "" : "the deleter never ran";
}

std::string memory_limit_is_an_error_that_names_sizes(const Setup& setup) {
  const auto device = setup.open(std::size_t{64} << 20);
  Stream& stream = device->default_stream();
  try {
    const Tensor a = empty(stream, DType::u8, {std::int64_t{1} << 30});
    return "1 GiB was given out of 64 MiB";
  } catch (const Error& e) {
    if (e.text().expected.find("1024 MiB") == std::string::npos)
      return std::string("the error does not name the size: ") + e.what();
  }
  { const Tensor a = empty(stream, DType::u8, {40 << 20}); }
  const Tensor b = empty(stream, DType::u8, {60 << 20});  // needs the cached block back
  return {};
}

// Sizes whose rounding would wrap.
std::string impossible_sizes_are_errors(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const Tensor small = ints(stream, 16);  // there is a slab to cut from
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2 + 1, SIZE_MAX / 4 + 1}) try {
      device->allocate(stream, bytes);
      return fmt::format("{} bytes were given", bytes);
    } catch (const Error&) {
    }
  return expect_iota(stream, small, 0);
}

}  // namespace

std::vector<Check> memory_checks() {
  return {
      TW_CHECK_ROW(memory_is_counted_and_cached),
      TW_CHECK_ROW(freed_memory_is_reused_in_order),
      TW_CHECK_ROW(memory_used_by_another_stream_is_not_reused_early),
      TW_CHECK_ROW(memory_used_by_several_other_streams_is_not_reused_early),
      TW_CHECK_ROW(copies_return_when_pageable_memory_may_change),
      TW_CHECK_ROW(pinned_copies_are_ordered),
      TW_CHECK_ROW(imported_memory_is_released_after_its_use),
      TW_CHECK_ROW(impossible_sizes_are_errors),
      TW_CHECK_ROW(memory_limit_is_an_error_that_names_sizes),
  };
}

}  // namespace tilewright::runtime::cts
