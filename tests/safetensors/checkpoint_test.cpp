#include "hub/safetensors/checkpoint.h"

#include <gtest/gtest.h>

#include "hub/safetensors/safetensors_writer.h"
#include "safetensors/scratch.h"

namespace tilewright::hub {
namespace {

const float kOne[] = {1, 2};

void write_shard(const std::filesystem::path& path, const std::vector<std::string>& names) {
  std::vector<TensorToWrite> tensors;
  for (const std::string& name : names)
    tensors.push_back({.name = name, .dtype = DType::f32, .shape = {2}, .bytes = std::as_bytes(std::span(kOne))});
  write_safetensors(path, tensors);
}

struct Sharded {
  Scratch scratch;
  explicit Sharded(const std::string& weight_map) {
    write_shard(scratch.path() / "model-00001-of-00002.safetensors", {"a", "b", "stray"});
    write_shard(scratch.path() / "model-00002-of-00002.safetensors", {"c"});
    scratch.write("model.safetensors.index.json", R"({"metadata":{"total_size":24},"weight_map":)" + weight_map + "}");
  }
};

TEST(Checkpoint, JoinsTheShardsOfAnIndex) {
  const Sharded model(
      R"({"a":"model-00001-of-00002.safetensors","b":"model-00001-of-00002.safetensors","c":"model-00002-of-00002.safetensors"})");
  const Checkpoint checkpoint = Checkpoint::open(model.scratch.path());
  EXPECT_EQ(checkpoint.tensors().size(), 3u);
  EXPECT_EQ(checkpoint.total_bytes(), 24u);
  EXPECT_EQ(checkpoint.get("c").file->path().filename(), "model-00002-of-00002.safetensors");
  EXPECT_EQ(checkpoint.find("stray"), nullptr);
  ASSERT_EQ(checkpoint.notes().size(), 1u);
  EXPECT_NE(checkpoint.notes()[0].find("1 tensors that the index does not name"), std::string::npos);
  expect_message("TensorNotFound", [&] { checkpoint.get("d"); });
}

TEST(Checkpoint, RefusesAnIndexThatLies) {
  const Sharded shard(R"({"a":"model-00001-of-00002.safetensors","c":"model-00003-of-00002.safetensors"})");
  expect_message("no model-00003-of-00002.safetensors", [&] { Checkpoint::open(shard.scratch.path()); });
  const Sharded tensor(R"({"a":"model-00001-of-00002.safetensors","c":"model-00001-of-00002.safetensors"})");
  expect_message("tensor \"c\", which is not in its shard", [&] { Checkpoint::open(tensor.scratch.path()); });
  for (const char* outside : {"../m.safetensors", "/etc/passwd", "x/../../m.safetensors", "..\\\\m.safetensors", ""}) {
    const Sharded escaping(std::string(R"({"a":")") + outside + "\"}");
    expect_message("outside the model directory", [&] { Checkpoint::open(escaping.scratch.path()); });
  }
  for (const char* shape : {"[]", "{\"a\":1}", "null"}) {
    const Sharded malformed(shape);
    expect_message("the index", [&] { Checkpoint::open(malformed.scratch.path()); });
  }
}

TEST(Checkpoint, PrefersTheWholeFileAndTakesALoneOne) {
  const Sharded model(R"({"a":"absent.safetensors"})");
  write_shard(model.scratch.path() / "model.safetensors", {"whole"});
  EXPECT_NE(Checkpoint::open(model.scratch.path()).find("whole"), nullptr);
  EXPECT_NE(Checkpoint::open(model.scratch.path() / "model-00002-of-00002.safetensors").find("c"), nullptr);

  const Scratch lone;
  write_shard(lone.path() / "weights.safetensors", {"w"});
  EXPECT_NE(Checkpoint::open(lone.path()).find("w"), nullptr);
  for (const char* golden : {"golden.safetensors", "bf16_golden.safetensors"}) {
    write_shard(lone.path() / golden, {"logits"});
    EXPECT_EQ(Checkpoint::open(lone.path()).find("logits"), nullptr);
  }
  write_shard(lone.path() / "more.safetensors", {"w"});
  expect_message("several weight files and no index", [&] { Checkpoint::open(lone.path()); });
}

TEST(Checkpoint, NamesADirectoryWithoutWeights) {
  const Scratch empty;
  expect_message("no weights in the model directory", [&] { Checkpoint::open(empty.path()); });
  expect_message("cannot read the directory", [] { Checkpoint::open("/nowhere"); });
}

TEST(Checkpoint, RefusesATruncatedShard) {
  const Sharded model(R"({"a":"model-00001-of-00002.safetensors","c":"model-00002-of-00002.safetensors"})");
  const auto shard = model.scratch.path() / "model-00002-of-00002.safetensors";
  std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 1);
  expect_message("MetadataIncompleteBuffer", [&] { Checkpoint::open(model.scratch.path()); });
}

}  // namespace
}  // namespace tilewright::hub
