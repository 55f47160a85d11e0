// The launches of a decoder are those of the reference implementation's eager run: tests/models/data/trace_*.json holds
// them as tools/trace_layer.py took them from a torch profiler trace (bf16, eager attention, no cache).
//
// Two liberties, both ours: matrix products of linear layers come as a group (q, k, v; gate, up) before what follows
// them, so that one launch over a group stays possible; and each layer has two launches more, which write keys and
// values to the cache. All else must agree in order, name, dtypes and shapes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "nn/decoder.h"
#include "ops/ops_fixture.h"

namespace tilewright {
namespace {

using ops::OpCall;
using ops::Tensor;

struct List {
  std::vector<std::string> products;  // linear layers, in order
  std::vector<std::string> others;    // everything else, in order
};

std::string row(const std::string& op, const std::vector<std::string>& in, const std::vector<std::string>& out) {
  return fmt::format("{}({}) -> {}", op, fmt::join(in, ", "), fmt::join(out, ", "));
}
std::string tensor_text(const Tensor& t) { return fmt::format("{} {}", dtype_name(t.dtype()), to_string(t.shape())); }

void add_stored(List& list, const Json& launches) {
  for (const Json& launch : launches) {
    const auto texts = [&](const char* key) {
      std::vector<std::string> out;
      for (const Json& t : launch[key]) {
        Dims shape;
        for (const Json& extent : t[1]) shape.push_back(extent.get<std::int64_t>());
        out.push_back(fmt::format("{} {}", t[0].get<std::string>(), to_string(shape)));
      }
      return out;
    };
    const bool product = launch["called"] == "linear";
    (product ? list.products : list.others).push_back(row(launch["op"], texts("inputs"), texts("outputs")));
  }
}

// Writes down every call of a small op, the way torch names and shapes it, and counts launches.
struct Recorder : ops::Observer {
  List list;
  int launches = 0, calls = 0, cache_writes = 0;
  void launched(const runtime::Launch&) override { ++launches; }
  void call_ends(const OpCall& call, const char* path) override {
    if (call.op.schema.kind != ops::OpKind::small) return;
    ++calls;
    const std::string& name = call.op.schema.name;
    if (name == "cache_write") {
      ++cache_writes;
      return;
    }
    const std::string_view module(path);
    if (module == "embed_tokens" || module == "rotary_emb" || module == "causal_mask" || module == "position") return;
    std::vector<std::string> in, out;
    for (const Tensor& t : call.inputs)
      if (t.defined()) in.push_back(tensor_text(t));
    for (const Tensor& t : call.outputs) out.push_back(tensor_text(t));
    if (name != "linear") {
      list.others.push_back(row(name, in, out));
      return;
    }
    // As torch flattens it: mm(x [rows, K], weight transposed [K, N]), with a bias addmm(bias, x, weight).
    const Tensor &x = call.input(0), &weight = call.input(1);
    const std::int64_t rows = x.elements() / x.dim(-1);
    in = {fmt::format("{} {}", dtype_name(x.dtype()), to_string(Shape{rows, x.dim(-1)})),
          fmt::format("{} {}", dtype_name(weight.dtype()), to_string(Shape{weight.dim(1), weight.dim(0)}))};
    if (call.has(2)) in.insert(in.begin(), tensor_text(call.input(2)));
    out = {fmt::format("{} {}", dtype_name(x.dtype()), to_string(Shape{rows, weight.dim(0)}))};
    list.products.push_back(row(call.has(2) ? "addmm" : "mm", in, out));
  }
};

nn::DecoderConfig config_of(const Json& trace) {
  const Json& c = trace["config"];
  nn::DecoderConfig config;
  config.family = trace["family"].get<std::string>();
  config.vocab_size = c["vocab_size"];
  config.hidden_size = c["hidden_size"];
  config.intermediate_size = c["intermediate_size"];
  config.layers = c["num_hidden_layers"];
  config.heads = c["num_attention_heads"];
  config.kv_heads = c["num_key_value_heads"];
  config.head_dim = c["head_dim"];
  config.max_positions = c["max_position_embeddings"];
  config.qk_norm = config.family == "qwen3";
  config.qkv_bias = config.family == "qwen2";
  config.windows.assign(static_cast<std::size_t>(config.layers), 0);
  return config;
}

nn::DecoderWeights random_weights(runtime::Stream& stream, const nn::DecoderConfig& config) {
  std::uint64_t seed = 0;
  const auto make = [&](nn::Slot slot) {
    const std::optional<Shape> shape = nn::slot_shape(config, slot);
    if (!shape) return Tensor();
    HostTensor values(DType::bf16, *shape);
    fill(values, "normal", ++seed);
    return to_device(stream, values);
  };
  nn::DecoderWeights weights;
  weights.dtype = DType::bf16;
  weights.embedding = make(nn::Slot::embedding);
  weights.head = make(nn::Slot::head);
  weights.final_norm = make(nn::Slot::final_norm);
  weights.layers.resize(static_cast<std::size_t>(config.layers));
  for (nn::LayerWeights& layer : weights.layers)
    for (int i = 0; i < nn::kSlots; ++i)
      if (const auto slot = static_cast<nn::Slot>(i); nn::is_layer_slot(slot)) layer[slot] = make(slot);
  return weights;
}

class LaunchList : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(LaunchList, IsThatOfAnEagerFramework) {
  const auto& [family, device] = GetParam();
  const Json trace = read_json_file(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "tests/models/data" /
                                    fmt::format("trace_{}.json", family));
  const nn::DecoderConfig config = config_of(trace);
  List expected;
  for (std::int64_t i = 0; i < config.layers; ++i) add_stored(expected, trace["launches"]);
  add_stored(expected, trace["head"]);

  test::Bench bench(device);
  Recorder recorder;
  ops::Context quiet = bench.context();
  const nn::Decoder decoder(config, random_weights(*bench.stream, config));
  nn::State state = decoder.make_state(quiet, trace["batch"], nn::kBucket);
  HostTensor ids(DType::i64, {trace["batch"].get<std::int64_t>(), trace["tokens"].get<std::int64_t>()});
  const Tensor device_ids = to_device(*bench.stream, ids);
  ops::Context context = bench.context({}, &recorder);
  decoder.head(context, decoder.forward(context, device_ids, state, 0));
  bench.stream->synchronize();

  EXPECT_EQ(recorder.launches, recorder.calls);  // a small op is one launch
  EXPECT_EQ(recorder.cache_writes, 2 * config.layers);
  EXPECT_EQ(recorder.list.products, expected.products);
  EXPECT_EQ(recorder.list.others.size(), expected.others.size());
  for (std::size_t i = 0; i < std::min(expected.others.size(), recorder.list.others.size()); ++i)
    ASSERT_EQ(recorder.list.others[i], expected.others[i]) << "launch " << i << " beside the linear layers";
}

INSTANTIATE_TEST_SUITE_P(Families, LaunchList,
                         testing::Combine(testing::Values("qwen3", "qwen2", "llama"), testing::Values("host", "null")),
                         [](const auto& info) {
                           return fmt::format("{}_{}", std::get<0>(info.param), std::get<1>(info.param));
                         });

}  // namespace
}  // namespace tilewright
