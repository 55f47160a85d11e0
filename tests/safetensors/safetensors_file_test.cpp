#include "hub/safetensors/safetensors_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "hub/safetensors/safetensors_writer.h"
#include "safetensors/scratch.h"
#include "tensor/host_tensor.h"

namespace tilewright::hub {
namespace {

const std::string kPair =
    R"({"layers.0.q_proj":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"layers.0.k_proj":{"dtype":"U16","shape":[2],"data_offsets":[8,12]}})";

TEST(SafetensorsFile, FindsViewsThatSurviveAMove) {
  const Scratch scratch;
  SafetensorsFile first = SafetensorsFile::open(scratch.write("m.safetensors", safetensors_bytes(kPair, 12)));
  const TensorView* before = first.find("layers.0.q_proj");
  const SafetensorsFile moved = std::move(first);
  ASSERT_EQ(moved.find("layers.0.q_proj"), before);
  EXPECT_EQ(before->dtype, DType::f32);
  EXPECT_EQ(before->shape, (Shape{2}));
  EXPECT_EQ(before->file, &moved.file());
  EXPECT_FALSE(moved.get("layers.0.k_proj").dtype.has_value());
  EXPECT_EQ(moved.get("layers.0.k_proj").dtype_name, "U16");
  EXPECT_EQ(moved.find("absent"), nullptr);
}

TEST(SafetensorsFile, ProposesTheNearestNames) {
  const Scratch scratch;
  const auto file = SafetensorsFile::open(scratch.write("m.safetensors", safetensors_bytes(kPair, 12)));
  const std::string message = message_of([&] { file.get("layers.0.q_prj"); });
  EXPECT_NE(message.find("TensorNotFound"), std::string::npos);
  EXPECT_NE(message.find("the nearest names being \"layers.0.q_proj\", \"layers.0.k_proj\""), std::string::npos)
      << message;
}

TEST(SafetensorsFile, SaysWhetherBytesAreAligned) {
  const Scratch scratch;
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
  const auto file = SafetensorsFile::open(
      scratch.write("m.safetensors", safetensors_bytes(header + std::string(8 - header.size() % 8, ' '), 5)));
  EXPECT_TRUE(file.get("a").aligned());
  EXPECT_FALSE(file.get("b").aligned());
}

// Only who asks for a shape beyond ours meets the error; the rest of the file stays usable.
TEST(SafetensorsFile, RefusesHugeShapesWhenAskedForThem) {
  const Scratch scratch;
  const std::string header = R"({"deep":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]},)"
                             R"("wide":{"dtype":"U8","shape":[0,18446744073709551615],"data_offsets":[1,1]},)"
                             R"("strided":{"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[1,1]},)"
                             R"("fine":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})";
  const auto file = SafetensorsFile::open(scratch.write("m.safetensors", safetensors_bytes(header, 2)));
  EXPECT_EQ(file.tensors().size(), 1u);
  EXPECT_TRUE(file.contains("deep"));
  for (const char* name : {"deep", "wide", "strided"})
    expect_message("beyond what this program handles", [&] { file.find(name); });
  EXPECT_NE(file.find("fine"), nullptr);
}

TEST(SafetensorsFile, NamesAFileThatIsNotThere) {
  expect_message("/nowhere/m.safetensors", [] { SafetensorsFile::open("/nowhere/m.safetensors"); });
}

// The file that ships was written by the reference: writing its tensors again must give the same bytes.
TEST(SafetensorsWriter, EqualsTheReferenceWriter) {
  const std::filesystem::path original = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "assets/bard/model.safetensors";
  const auto file = SafetensorsFile::open(original);
  std::vector<TensorToWrite> tensors;
  for (const TensorView& view : file.tensors()) {
    TensorToWrite tensor{.name = view.name, .dtype = view.dtype.value(), .shape = view.shape};
    if (tensors.size() % 2)
      tensor.bytes = view.bytes;
    else
      tensor.produce = [&view](const ByteSink& sink) {
        sink(view.bytes.first(view.bytes.size() / 2));
        sink(view.bytes.subspan(view.bytes.size() / 2));
      };
    tensors.insert(tensors.begin(), tensor);  // the order given must not matter
  }
  const Scratch scratch;
  write_safetensors(scratch.path() / "copy.safetensors", tensors, file.metadata());
  EXPECT_TRUE(MappedFile(original).text() == MappedFile(scratch.path() / "copy.safetensors").text());
  EXPECT_EQ(scratch.entries(), 1u);
}

// Every dtype survives writing and reading, the wide ones first, and each stands aligned.
TEST(SafetensorsWriter, RoundTripsEveryDtype) {
  std::vector<HostTensor> values;
  std::vector<TensorToWrite> tensors;
  for (const DType dtype :
       {DType::b8, DType::u8, DType::f8e4m3, DType::f16, DType::bf16, DType::i32, DType::f32, DType::i64}) {
    values.emplace_back(dtype, Shape{3, 1});
    fill(values.back(), "ones", 1);
  }
  for (const HostTensor& value : values)
    tensors.push_back({.name = "n\"" + std::string(dtype_name(value.dtype)),
                       .dtype = value.dtype,
                       .shape = value.shape,
                       .bytes = value.bytes});
  tensors.push_back({.name = "scalar", .dtype = DType::u8, .shape = {}, .bytes = std::span(values[1].bytes).first(1)});
  tensors.push_back({.name = "empty", .dtype = DType::f32, .shape = {0, 4}});
  const Scratch scratch;
  write_safetensors(scratch.path() / "m.safetensors", tensors);
  const auto file = SafetensorsFile::open(scratch.path() / "m.safetensors");
  ASSERT_EQ(file.tensors().size(), tensors.size());
  EXPECT_EQ(file.tensors().front().dtype, DType::i64);
  EXPECT_EQ(file.tensors().back().dtype, DType::b8);
  for (const TensorToWrite& tensor : tensors) {
    const TensorView& view = file.get(tensor.name);
    EXPECT_TRUE(view.aligned());
    EXPECT_EQ(view.dtype, tensor.dtype);
    EXPECT_EQ(view.shape, tensor.shape);
    EXPECT_TRUE(std::equal(view.bytes.begin(), view.bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
  }
}

}  // namespace
}  // namespace tilewright::hub
