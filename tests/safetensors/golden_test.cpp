#include "hub/golden.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "hub/safetensors/safetensors_writer.h"
#include "safetensors/scratch.h"

namespace tilewright::hub {
namespace {

// A right golden, which each test spoils in one place.
struct Parts {
  std::map<std::string, HostTensor> tensors = {{"input_ids", {DType::i64, {2, 3}}},
                                               {"logits", {DType::f32, {2, 3, 5}}},
                                               {"greedy_ids", {DType::i64, {2, 4}}},
                                               {"top2_gap", {DType::f32, {2, 4}}},
                                               {"bf16_error", {DType::f32, {1}}}};
  std::map<std::string, std::string> metadata = {
      {"format", "tilewright-golden-1"}, {"reference", "some 1.0"}, {"dtype", "float32"}, {"model_type", "qwen3"}};
  Golden read() const {
    const Scratch scratch;
    std::vector<TensorToWrite> list;
    for (const auto& [name, value] : tensors)
      list.push_back({.name = name, .dtype = value.dtype, .shape = value.shape, .bytes = value.bytes});
    write_safetensors(scratch.path() / "g.safetensors", list, metadata);
    return read_golden(scratch.path() / "g.safetensors");
  }
};

TEST(Golden, ReadsWhatItHolds) {
  Parts parts;
  parts.tensors["logits"].set(29, 2.5);
  parts.tensors["bf16_error"].set(0, 0.125);
  const Golden golden = parts.read();
  EXPECT_EQ(golden.logits.at(29), 2.5);
  EXPECT_EQ(golden.bf16_error, 0.125f);
  EXPECT_TRUE(golden.top2_gap.has_value());
  EXPECT_EQ(golden.model_type, "qwen3");
  EXPECT_EQ(golden.dtype, DType::f32);
  parts.tensors.erase("top2_gap");
  parts.tensors.erase("bf16_error");
  const Golden bare = parts.read();
  EXPECT_FALSE(bare.top2_gap || bare.bf16_error);
}

TEST(Golden, RefusesEveryMismatch) {
  const auto refused = [](const std::string& message, const std::function<void(Parts&)>& spoil) {
    Parts parts;
    spoil(parts);
    expect_message(message, [&] { parts.read(); });
  };
  refused("this is not a golden", [](Parts& p) { p.metadata["format"] = "tilewright-golden-2"; });
  refused("this is not a golden", [](Parts& p) { p.metadata.erase("format"); });
  refused("\"model_type\" is missing", [](Parts& p) { p.metadata.erase("model_type"); });
  refused("unknown dtype", [](Parts& p) { p.metadata["dtype"] = "float33"; });
  refused("TensorNotFound", [](Parts& p) { p.tensors.erase("logits"); });
  refused("wrong dtype or rank", [](Parts& p) { p.tensors["logits"] = HostTensor(DType::bf16, {2, 3, 5}); });
  refused("wrong dtype or rank", [](Parts& p) { p.tensors["input_ids"] = HostTensor(DType::i64, {6}); });
  refused("the shape of \"logits\"", [](Parts& p) { p.tensors["logits"] = HostTensor(DType::f32, {2, 4, 5}); });
  refused("the shape of \"greedy_ids\"", [](Parts& p) { p.tensors["greedy_ids"] = HostTensor(DType::i64, {1, 4}); });
  refused("the shape of \"top2_gap\"", [](Parts& p) { p.tensors["top2_gap"] = HostTensor(DType::f32, {2, 3}); });
  refused("outside the vocabulary at [1, 1]", [](Parts& p) { p.tensors["greedy_ids"].set(5, 5); });
  refused("outside the vocabulary", [](Parts& p) { p.tensors["input_ids"].set(0, -1); });
  refused("impossible value", [](Parts& p) { p.tensors["logits"].set(7, std::numeric_limits<double>::quiet_NaN()); });
  refused("impossible value", [](Parts& p) { p.tensors["top2_gap"].set(0, -1); });
  refused("empty", [](Parts& p) {
    p.tensors["input_ids"] = HostTensor(DType::i64, {2, 0});
    p.tensors["logits"] = HostTensor(DType::f32, {2, 0, 5});
  });
}

}  // namespace
}  // namespace tilewright::hub
