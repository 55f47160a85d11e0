#include "tile/random/tile_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "tile/ir/printer.h"
#include "tile/random/random.h"

namespace tilewright::tile {
namespace {

constexpr std::byte kUnwritten{0xa5};  // of outputs and between their rows
constexpr std::byte kOnes{0xff};       // between rows of inputs: NaN, -1

double fill_value(const TileCase::TensorData& data, Random& random) {
  const auto grid = [&] { return static_cast<double>(random.between(-32, 32)) / 8; };
  switch (data.fill) {
    case TileCase::Fill::whole:
      return static_cast<double>(random.between(data.low, data.high));
    case TileCase::Fill::normal:
      return (random.real() + random.real() - 1) * 3;
    case TileCase::Fill::edges: {
      constexpr double inf = std::numeric_limits<double>::infinity();
      const std::vector<double> edges = {inf, -inf, std::nan(""), 0.0, -0.0, 1e-40, -1e-40, 3e38, -3e38, 65000, 1e-7};
      return random.chance(80) ? grid() : random.of(edges);
    }
    default:
      return grid();
  }
}

std::vector<std::int64_t> case_shape(const TileCase& tile_case, const TensorParameter& parameter) {
  std::vector<std::int64_t> shape;
  for (const TensorDim& dim : parameter.shape)
    shape.push_back(dim.symbol == kNone ? dim.size : tile_case.dims[static_cast<std::size_t>(dim.symbol)]);
  return shape;
}

// Rows of the dim that must have unit stride (the last where none must), `padding` elements apart.
std::vector<std::int64_t> case_strides(const TileCase& tile_case, int tensor, const std::vector<std::int64_t>& shape) {
  const std::vector<bool> unit = tile_case.program.unit_stride(tensor);
  std::size_t innermost = shape.size() - 1;
  for (std::size_t d = 0; d < unit.size(); ++d)
    if (unit[d]) innermost = d;
  std::vector<std::int64_t> strides(shape.size(), 1);
  std::int64_t next = shape[innermost] + tile_case.tensors[static_cast<std::size_t>(tensor)].padding;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (d == innermost) continue;
    strides[d] = next;
    next *= std::max<std::int64_t>(shape[d], 1);
  }
  return strides;
}

}  // namespace

std::string case_text(const TileCase& tile_case) {
  static constexpr const char* kFills[] = {"grid", "normal", "edges", "whole"};
  std::string text = print(tile_case.program);
  for (std::size_t i = 0; i < tile_case.dims.size(); ++i)
    text += fmt::format("# {} = {}\n", tile_case.program.dims[i], tile_case.dims[i]);
  for (std::size_t i = 0; i < tile_case.scalars.size(); ++i)
    text += fmt::format("# {} = {}\n", tile_case.program.scalars[i].name, tile_case.scalars[i]);
  for (std::size_t i = 0; i < tile_case.tensors.size(); ++i) {
    const auto& data = tile_case.tensors[i];
    text += fmt::format("# {}: {} ({} … {}), {} elements between rows, seed {}\n", tile_case.program.tensors[i].name,
                        kFills[static_cast<int>(data.fill)], data.low, data.high, data.padding, data.seed);
  }
  return text;
}

CaseMemory::CaseMemory(const TileCase& tile_case) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  arguments_.scalars = tile_case.scalars;
  areas_.resize(tile_case.tensors.size());
  for (std::size_t i = 0; i < areas_.size(); ++i) {
    const TensorParameter& parameter = tile_case.program.tensors[i];
    Area& area = areas_[i];
    area.name = parameter.name;
    area.dtype = parameter.dtype;
    area.access = parameter.access;
    const std::vector<std::int64_t> shape = case_shape(tile_case, parameter);
    const std::vector<std::int64_t> strides = case_strides(tile_case, static_cast<int>(i), shape);
    std::int64_t last = 0, count = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      last += (shape[d] - 1) * strides[d];
      count *= shape[d];
    }
    area.elements = count == 0 ? 0 : last + 1;
    const std::size_t bytes = static_cast<std::size_t>(area.elements) * dtype_size(area.dtype);
    const std::size_t inner = (bytes + page - 1) / page * page;
    area.size = inner + 2 * page;
    void* pages = mmap(nullptr, area.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TW_CHECK(pages != MAP_FAILED);
    area.pages = static_cast<std::byte*>(pages);
    if (inner > 0) TW_CHECK(mprotect(area.pages + page, inner, PROT_READ | PROT_WRITE) == 0);
    area.data = area.pages + page + inner - bytes;
    if (inner > 0)
      std::memset(area.pages + page, static_cast<int>(area.access == Access::read ? kOnes : kUnwritten), inner);
    area.belongs.resize(static_cast<std::size_t>(area.elements));
    Random random(tile_case.tensors[i].seed);
    for (std::int64_t e = 0; e < count; ++e) {
      std::int64_t at = 0, rest = e;
      for (std::size_t d = shape.size(); d-- > 0;) {
        at += rest % shape[d] * strides[d];
        rest /= shape[d];
      }
      area.belongs[static_cast<std::size_t>(at)] = true;
      if (area.access == Access::read)
        store_element(area.dtype, area.data + static_cast<std::size_t>(at) * dtype_size(area.dtype),
                      fill_value(tile_case.tensors[i], random));
    }
    if (area.access == Access::read) area.before.assign(area.data, area.data + bytes);
    arguments_.tensors.push_back({area.data, shape, strides});
  }
}

CaseMemory::~CaseMemory() {
  for (const Area& area : areas_) munmap(area.pages, area.size);
}

std::string CaseMemory::damage() const {
  for (const Area& area : areas_) {
    const std::size_t size = dtype_size(area.dtype), bytes = static_cast<std::size_t>(area.elements) * size;
    if (area.access == Access::read) {
      if (bytes != 0 && std::memcmp(area.data, area.before.data(), bytes) != 0)
        return fmt::format("input {} was written", area.name);
      continue;
    }
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (const std::byte* at = area.pages + page; at < area.data; ++at)
      if (*at != kUnwritten) return fmt::format("bytes before output {} were written", area.name);
    for (std::size_t i = 0; i < bytes; ++i)
      if (!area.belongs[i / size] && area.data[i] != kUnwritten)
        return fmt::format("element {} between rows of output {} was written", i / size, area.name);
  }
  return "";
}

bool CaseMemory::written(int i, std::int64_t at) const {
  const Area& area = areas_[static_cast<std::size_t>(i)];
  const std::size_t size = dtype_size(area.dtype);
  for (std::size_t byte = 0; byte < size; ++byte)
    if (area.data[static_cast<std::size_t>(at) * size + byte] != kUnwritten) return true;
  return false;
}

double CaseMemory::value(int i, std::int64_t at) const {
  const Area& area = areas_[static_cast<std::size_t>(i)];
  return load_element(area.dtype, area.data + static_cast<std::size_t>(at) * dtype_size(area.dtype));
}

}  // namespace tilewright::tile
