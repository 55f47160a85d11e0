#include "runtime/cts/cts_helpers.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "runtime/error_codes.h"

namespace tilewright::runtime::cts {
namespace {

struct AddValue {
  std::int64_t count;
  std::int32_t value;
};

}  // namespace

Launch launch_of(Device& device, const char* kernel, std::uint32_t grid) {
  Launch launch;
  launch.kernel = device.find_kernel(kernel);
  if (!launch.kernel)
    fail({.what = "the device lacks a kernel of the conformance suite",
          .where = kernel,
          .expected = "",
          .found = "",
          .fix = ""});
  launch.grid = grid;
  launch.op = kernel;
  return launch;
}

Tensor ints(Stream& stream, std::int64_t count, std::int32_t first) {
  HostTensor values(DType::i32, {count});
  std::iota(values.data<std::int32_t>(), values.data<std::int32_t>() + count, first);
  return to_device(stream, values);
}

void add_value(Stream& stream, const Tensor& in, const Tensor& out, std::int32_t value, const char* op,
               const char* path) {
  TW_CHECK(in.elements() <= out.elements());
  Launch launch =
      launch_of(stream.device(), "cts.add_value", static_cast<std::uint32_t>((in.elements() + 1023) / 1024));
  launch.op = op;
  launch.path = path;
  launch.add_buffer(read_arg(in));
  launch.add_buffer(write_arg(out));
  launch.set_parameters(AddValue{in.elements(), value});
  stream.submit(launch);
}

void busy(Stream& stream, std::int64_t microseconds) {
  Launch launch = launch_of(stream.device(), "cts.busy");
  launch.set_parameters(microseconds);
  stream.submit(launch);
}

std::string expect_iota(Stream& stream, const Tensor& tensor, std::int32_t first) {
  const HostTensor host = to_host(stream, tensor);
  if (!stream.device().computes()) return {};
  for (std::int64_t i = 0; i < host.elements(); ++i)
    if (host.data<std::int32_t>()[i] != first + i)
      return fmt::format("element {} is {}, expected {}", i, host.data<std::int32_t>()[i], first + i);
  return {};
}

std::string expect_code(std::initializer_list<int> codes, const std::function<void()>& action,
                        const std::string& where) {
  std::string wanted;
  for (const int code : codes) wanted += (wanted.empty() ? "" : " or ") + std::to_string(code);
  try {
    action();
  } catch (const Error& error) {
    const int found = error.text().code.value_or(0);
    if (std::find(codes.begin(), codes.end(), found) == codes.end())
      return "expected " + wanted + ", got: " + error.what();
    if (error.text().name != find_error_code(found)->name)
      return "the name does not fit the code: " + error.text().name;
    if (error.text().fix.empty()) return "the error proposes nothing";
    if (error.text().where.find(where) == std::string::npos)
      return "expected the place " + where + ", got: " + error.text().where;
    return {};
  }
  return "expected " + wanted + ", but the call went through";
}

}  // namespace tilewright::runtime::cts
