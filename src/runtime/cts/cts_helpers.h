// What the checks share: launches of the suite's kernels, and the lists of checks by theme.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/cts/cts.h"
#include "runtime/tensor.h"

namespace tilewright::runtime::cts {

std::vector<Check> stream_checks();
std::vector<Check> memory_checks();
std::vector<Check> illegal_capture_checks();
std::vector<Check> illegal_replay_checks();
std::vector<Check> capture_checks();
std::vector<Check> planned_memory_checks();

#define TW_CHECK_ROW(function) \
  { #function, &function }

using Values = std::vector<std::int32_t>;

Launch launch_of(Device& device, const char* kernel, std::uint32_t grid = 1);
// first, first + 1, …; copied from pageable memory.
Tensor ints(Stream& stream, std::int64_t count, std::int32_t first = 0);
// out = in + value; `op` and `path` as the launch's.
void add_value(Stream& stream, const Tensor& in, const Tensor& out, std::int32_t value,
               const char* op = "cts.add_value", const char* path = "");
void busy(Stream& stream, std::int64_t microseconds);
// Empty if every element i is first + i.
std::string expect_iota(Stream& stream, const Tensor& tensor, std::int32_t first);

// Empty if `action` throws an Error with one of `codes`, whose name is that of the table and whose place names `where`.
std::string expect_code(std::initializer_list<int> codes, const std::function<void()>& action,
                        const std::string& where = {});

}  // namespace tilewright::runtime::cts
