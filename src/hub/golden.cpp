#include "hub/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "hub/safetensors/safetensors_file.h"

namespace tilewright::hub {
namespace {

constexpr const char* kWriteAgain = "write the golden again: tools/make_golden.py MODEL";

HostTensor copied(const TensorView& view, DType dtype, int rank, const std::string& where) {
  if (view.dtype != dtype || view.shape.rank() != rank)
    fail({.what = "\"" + view.name + "\" has the wrong dtype or rank",
          .where = where,
          .expected = fmt::format("{} of {} dims", dtype_name(dtype), rank),
          .found = view.dtype_name + " " + to_string(view.shape),
          .fix = kWriteAgain});
  HostTensor out(dtype, view.shape);
  if (!view.bytes.empty()) std::memcpy(out.bytes.data(), view.bytes.data(), view.bytes.size());
  return out;
}

void want_shape(const HostTensor& tensor, const char* name, const Shape& expected, const std::string& where) {
  if (!(tensor.shape == expected))
    fail({.what = fmt::format("the shape of \"{}\" does not fit the others", name),
          .where = where,
          .expected = to_string(expected),
          .found = to_string(tensor.shape),
          .fix = kWriteAgain});
}

void want_ids(const HostTensor& tensor, const char* name, std::int64_t vocabulary, const std::string& where) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const std::int64_t id = tensor.data<std::int64_t>()[i];
    if (id < 0 || id >= vocabulary)
      fail({.what = fmt::format("\"{}\" holds a token outside the vocabulary at {}", name, index_text(i, tensor.shape)),
            .where = where,
            .expected = fmt::format("0 to {}", vocabulary - 1),
            .found = fmt::format("{}", id),
            .fix = kWriteAgain});
  }
}

void want_finite(const HostTensor& tensor, const char* name, bool negative_allowed, const std::string& where) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const float value = tensor.data<float>()[i];
    if (!std::isfinite(value) || (value < 0 && !negative_allowed))
      fail({.what = fmt::format("\"{}\" holds an impossible value at {}", name, index_text(i, tensor.shape)),
            .where = where,
            .expected = negative_allowed ? "finite numbers" : "finite numbers, none negative",
            .found = fmt::format("{}", value),
            .fix = kWriteAgain});
  }
}

std::string metadata_field(const SafetensorsFile& file, const std::string& key, const std::string& where) {
  const auto it = file.metadata().find(key);
  if (it == file.metadata().end())
    fail({.what = "metadata \"" + key + "\" is missing",
          .where = where,
          .expected = "a string",
          .found = "nothing",
          .fix = kWriteAgain});
  return it->second;
}

}  // namespace

Golden read_golden(const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  const std::string where = path.string();
  const auto format = file.metadata().find("format");
  if (format == file.metadata().end() || format->second != "tilewright-golden-1")
    fail({.what = "this is not a golden",
          .where = where,
          .expected = "metadata format = tilewright-golden-1",
          .found = format == file.metadata().end() ? "no format" : format->second,
          .fix = kWriteAgain});

  Golden out;
  out.reference = metadata_field(file, "reference", where);
  try {
    out.dtype = dtype_from_name(metadata_field(file, "dtype", where));
  } catch (const Error& error) {
    fail({.what = "metadata \"dtype\": " + error.text().what,
          .where = where,
          .expected = error.text().expected,
          .found = error.text().found,
          .fix = kWriteAgain});
  }
  out.model_type = metadata_field(file, "model_type", where);
  out.input_ids = copied(file.get("input_ids"), DType::i64, 2, where);
  out.logits = copied(file.get("logits"), DType::f32, 3, where);
  out.greedy_ids = copied(file.get("greedy_ids"), DType::i64, 2, where);
  const std::int64_t batch = out.input_ids.shape[0], length = out.input_ids.shape[1];
  const std::int64_t vocabulary = out.logits.shape[2], generated = out.greedy_ids.shape[1];
  if (batch == 0 || length == 0 || vocabulary == 0)
    fail({.what = "the golden is empty",
          .where = where,
          .expected = "at least one row, token and logit",
          .found = to_string(out.logits.shape),
          .fix = kWriteAgain});
  want_shape(out.logits, "logits", {batch, length, vocabulary}, where);
  want_shape(out.greedy_ids, "greedy_ids", {batch, generated}, where);
  want_ids(out.input_ids, "input_ids", vocabulary, where);
  want_ids(out.greedy_ids, "greedy_ids", vocabulary, where);
  want_finite(out.logits, "logits", true, where);
  if (const TensorView* view = file.find("top2_gap")) {
    out.top2_gap = copied(*view, DType::f32, 2, where);
    want_shape(*out.top2_gap, "top2_gap", {batch, generated}, where);
    want_finite(*out.top2_gap, "top2_gap", false, where);
  }
  if (const TensorView* view = file.find("bf16_error")) {
    const HostTensor error = copied(*view, DType::f32, 1, where);
    want_shape(error, "bf16_error", {1}, where);
    want_finite(error, "bf16_error", false, where);
    out.bf16_error = error.data<float>()[0];
  }
  return out;
}

bool is_golden_name(std::string_view file_name) {
  return file_name == "golden.safetensors" || file_name.ends_with("_golden.safetensors");
}

std::vector<std::filesystem::path> goldens_beside(const std::filesystem::path& model_dir) {
  std::vector<std::filesystem::path> out;
  std::error_code error;
  for (std::filesystem::directory_iterator it(model_dir, error), end; !error && it != end; it.increment(error))
    if (is_golden_name(it->path().filename().string())) out.push_back(it->path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tilewright::hub
