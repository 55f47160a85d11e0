#include "hub/safetensors/safetensors_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"

namespace tilewright::hub {
namespace {

struct Spelling {
  const char* name;
  int order;  // place in the reference's list of dtypes, which it sorts by
};
Spelling spelling(DType dtype) {
  switch (dtype) {
    case DType::b8:
      return {"BOOL", 0};
    case DType::u8:
      return {"U8", 1};
    case DType::f8e4m3:
      return {"F8_E4M3", 2};
    case DType::f16:
      return {"F16", 3};
    case DType::bf16:
      return {"BF16", 4};
    case DType::i32:
      return {"I32", 5};
    case DType::f32:
      return {"F32", 6};
    case DType::i64:
      return {"I64", 7};
  }
  return {"", 0};
}

std::string quoted(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail({.what = "a name is not UTF-8 and cannot be written",
          .where = "safetensors header",
          .expected = "UTF-8",
          .found = "",
          .fix = "repair the file the name comes from"});
  }
}

std::size_t byte_size(const TensorToWrite& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements()) * dtype_size(tensor.dtype);
}

std::string header_of(const std::vector<const TensorToWrite*>& ordered,
                      const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> fields;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) pairs.push_back(quoted(key) + ":" + quoted(value));
    fields.push_back(fmt::format(R"("__metadata__":{{{}}})", fmt::join(pairs, ",")));
  }
  std::size_t offset = 0;
  for (const TensorToWrite* tensor : ordered) {
    const std::size_t end = offset + byte_size(*tensor);
    fields.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", quoted(tensor->name),
                                 spelling(tensor->dtype).name,
                                 fmt::join(tensor->shape.begin(), tensor->shape.end(), ","), offset, end));
    offset = end;
  }
  std::string out = fmt::format("{{{}}}", fmt::join(fields, ","));
  out.append((8 - out.size() % 8) % 8, ' ');
  return out;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const TensorToWrite*> ordered;
  for (const TensorToWrite& tensor : tensors) ordered.push_back(&tensor);
  std::sort(ordered.begin(), ordered.end(), [](const TensorToWrite* a, const TensorToWrite* b) {
    const int left = spelling(a->dtype).order, right = spelling(b->dtype).order;
    return left != right ? left > right : a->name < b->name;
  });
  for (std::size_t i = 1; i < ordered.size(); ++i)
    TW_CHECK(ordered[i - 1]->name != ordered[i]->name || ordered[i - 1]->dtype != ordered[i]->dtype);
  const std::string header = header_of(ordered, metadata);

  write_file_atomically(path, [&](std::ostream& out) {
    std::array<char, 8> length{};
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
    out.write(length.data(), 8);
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (const TensorToWrite* tensor : ordered) {
      std::size_t written = 0;
      const auto sink = [&](std::span<const std::byte> bytes) {
        out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        written += bytes.size();
      };
      if (tensor->produce)
        tensor->produce(sink);
      else
        sink(tensor->bytes);
      TW_CHECK(written == byte_size(*tensor));
      if (!out) return;  // a full disk: write_file_atomically reports it; do not compute the rest
    }
  });
}

}  // namespace tilewright::hub
