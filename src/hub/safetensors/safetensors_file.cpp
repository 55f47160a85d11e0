#include "hub/safetensors/safetensors_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "hub/safetensors/header.h"

namespace tilewright::hub {
namespace {

std::optional<DType> our_dtype(std::string_view name) {
  for (const auto& [theirs, ours] : {std::pair{"F32", DType::f32},
                                     {"F16", DType::f16},
                                     {"BF16", DType::bf16},
                                     {"F8_E4M3", DType::f8e4m3},
                                     {"I64", DType::i64},
                                     {"I32", DType::i32},
                                     {"U8", DType::u8},
                                     {"BOOL", DType::b8}})
    if (name == theirs) return ours;
  return std::nullopt;
}

// False if our shapes cannot hold it. Strides multiply dims without looking for zeros, so that product must fit as
// well.
bool to_shape(const std::vector<std::uint64_t>& dims, Shape& out) {
  if (dims.size() > static_cast<std::size_t>(kMaxRank)) return false;
  std::int64_t product = 1;
  for (const std::uint64_t dim : dims) {
    if (dim > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(1, static_cast<std::int64_t>(dim)), &product))
      return false;
    out.push_back(static_cast<std::int64_t>(dim));
  }
  return true;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

bool TensorView::aligned() const {
  return !dtype || reinterpret_cast<std::uintptr_t>(bytes.data()) % dtype_size(*dtype) == 0;
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile out;
  out.file_ = std::make_unique<MappedFile>(path);
  SafetensorsHeader header = read_safetensors_header(out.file_->bytes(), path.string());
  out.metadata_ = std::move(header.metadata);
  out.tensors_.reserve(header.entries.size());
  for (SafetensorsEntry& entry : header.entries) {
    TensorView view{.name = std::move(entry.name), .dtype_name = std::move(entry.dtype_name)};
    if (!to_shape(entry.shape, view.shape)) {
      out.refused_.emplace(view.name, fmt::format("{} dims [{}]", entry.shape.size(), fmt::join(entry.shape, ", ")));
      continue;
    }
    view.dtype = our_dtype(view.dtype_name);
    view.bytes = out.file_->bytes().subspan(entry.begin, entry.end - entry.begin);
    view.file = out.file_.get();
    out.tensors_.push_back(std::move(view));
  }
  out.by_name_.reserve(out.tensors_.size());
  for (const TensorView& view : out.tensors_) out.by_name_.emplace(view.name, &view);
  return out;
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  if (it != by_name_.end()) return it->second;
  if (const auto refused = refused_.find(name); refused != refused_.end())
    fail({.what = fmt::format("the shape of tensor \"{}\" is beyond what this program handles", name),
          .where = file_->path().string(),
          .expected = fmt::format("at most {} dims, each below 2^63", kMaxRank),
          .found = refused->second,
          .fix = "use a model of a supported family"});
  return nullptr;
}

const TensorView& SafetensorsFile::get(std::string_view name) const {
  if (const TensorView* view = find(name)) return *view;
  std::vector<std::string_view> names;
  for (const TensorView& view : tensors_) names.push_back(view.name);
  fail_tensor_not_found(name, names, file_->path().string());
}

bool SafetensorsFile::contains(std::string_view name) const {
  return by_name_.contains(name) || refused_.contains(name);
}

void fail_tensor_not_found(std::string_view name, std::span<const std::string_view> candidates,
                           const std::string& where) {
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const std::string_view candidate : candidates)
    if (candidate.size() <= 300) ranked.emplace_back(edit_distance(name.substr(0, 300), candidate), candidate);
  const std::size_t shown = std::min<std::size_t>(3, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(shown), ranked.end());
  std::string nearest;
  for (std::size_t i = 0; i < shown; ++i) nearest += fmt::format("{}\"{}\"", i ? ", " : "", ranked[i].second);
  fail({.what = fmt::format("TensorNotFound: there is no tensor \"{}\"", name),
        .where = where,
        .expected = "",
        .found = nearest.empty() ? "no tensors at all"
                                 : fmt::format("{} tensors, the nearest names being {}", candidates.size(), nearest),
        .fix = "check that config.json and the weights belong to the same model"});
}

}  // namespace tilewright::hub
