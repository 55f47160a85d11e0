#include "hub/gguf/import_gguf.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <map>

#include "base/json.h"
#include "gguf/tiny_gguf.h"
#include "hub/safetensors/checkpoint.h"
#include "safetensors/scratch.h"
#include "tensor/dtype.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

fs::path fixture(const std::string& name) { return fs::path(TILEWRIGHT_SOURCE_DIR) / "tests/gguf/fixtures" / name; }

// Files made by the `gguf` package, one matrix type for each projection; the reference implementation read them.
class ImportTiny : public testing::TestWithParam<const char*> {};
TEST_P(ImportTiny, GivesTheReferencesWeights) {
  const Scratch scratch;
  const std::string name = std::string("tiny_") + GetParam();
  import_gguf({.file = fixture(name + ".gguf"), .output_dir = scratch.path() / "out"});
  const Checkpoint ours = Checkpoint::open(scratch.path() / "out");
  const Checkpoint reference = Checkpoint::open(fixture(name + ".safetensors"));
  EXPECT_EQ(ours.tensors().size(), reference.tensors().size());
  for (const TensorView* expected : reference.tensors()) {
    const TensorView& view = ours.get(expected->name);
    EXPECT_EQ(view.dtype, DType::f32);
    EXPECT_EQ(view.shape, expected->shape) << view.name;
    EXPECT_TRUE(std::equal(view.bytes.begin(), view.bytes.end(), expected->bytes.begin(), expected->bytes.end()))
        << view.name;
  }
}

// The reference's bits, rounded once.
TEST_P(ImportTiny, RoundsToTheDtypeAskedFor) {
  const Scratch scratch;
  const std::string name = std::string("tiny_") + GetParam();
  for (const DType dtype : {DType::bf16, DType::f16}) {
    import_gguf({.file = fixture(name + ".gguf"), .output_dir = scratch.path() / "out", .dtype = dtype, .force = true});
    const Checkpoint ours = Checkpoint::open(scratch.path() / "out");
    const Checkpoint reference = Checkpoint::open(fixture(name + ".safetensors"));
    for (const TensorView* expected : reference.tensors()) {
      const TensorView& view = ours.get(expected->name);
      ASSERT_EQ(view.bytes.size() * 2, expected->bytes.size());
      for (std::size_t i = 0; i < expected->bytes.size() / 4; ++i) {
        float value;
        std::uint16_t bits;
        std::memcpy(&value, expected->bytes.data() + 4 * i, 4);
        std::memcpy(&bits, view.bytes.data() + 2 * i, 2);
        ASSERT_EQ(bits, dtype == DType::f16 ? float_to_f16(value) : float_to_bf16(value));
      }
    }
    EXPECT_EQ(read_json_file(scratch.path() / "out/config.json").at("torch_dtype"),
              std::string(dtype_torch_name(dtype)));
  }
}
INSTANTIATE_TEST_SUITE_P(Families, ImportTiny, testing::Values("llama", "qwen2", "qwen3"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ImportGguf, SplitsIntoShardsOfTheGivenSize) {
  const Scratch scratch;
  import_gguf({.file = fixture("tiny_qwen2.gguf"), .output_dir = scratch.path() / "one"});
  import_gguf({.file = fixture("tiny_qwen2.gguf"), .output_dir = scratch.path() / "many", .shard_bytes = 20'000});
  const Checkpoint one = Checkpoint::open(scratch.path() / "one"), many = Checkpoint::open(scratch.path() / "many");
  EXPECT_GT(many.files().size(), 2u);
  EXPECT_EQ(many.total_bytes(), one.total_bytes());
  EXPECT_EQ(read_json_file(scratch.path() / "many/model.safetensors.index.json").at("metadata").at("total_size"),
            one.total_bytes());
  EXPECT_TRUE(many.notes().empty());
  for (const TensorView* expected : one.tensors()) {
    const TensorView& view = many.get(expected->name);
    EXPECT_TRUE(std::equal(view.bytes.begin(), view.bytes.end(), expected->bytes.begin(), expected->bytes.end()));
  }
}

// The float type of the matrices, whatever the norms are stored in.
TEST(ImportGguf, KeepsTheFilesFloatType) {
  const Scratch scratch;
  for (const auto& [type, dtype] : {std::pair{0u, DType::f32}, {1u, DType::f16}, {30u, DType::bf16}}) {
    const std::string norm = "output_norm.weight";
    const auto file =
        scratch.write("m.gguf", tiny_gguf("qwen3", {norm}, type).f32_tensor(norm, {4}, {1, 2, 3, 4}).bytes());
    import_gguf({.file = file, .output_dir = scratch.path() / "out", .force = true});
    EXPECT_EQ(Checkpoint::open(scratch.path() / "out").get("model.layers.0.self_attn.q_proj.weight").dtype, dtype);
    EXPECT_EQ(Checkpoint::open(scratch.path() / "out").get("model.norm.weight").dtype, dtype);
  }
}

TEST(ImportGguf, LeavesANonEmptyDirectoryAlone) {
  const Scratch scratch;
  fs::create_directory(scratch.path() / "out");
  std::ofstream(scratch.path() / "out/notes.txt") << "mine";
  expect_message("not empty",
                 [&] { import_gguf({.file = fixture("tiny_qwen3.gguf"), .output_dir = scratch.path() / "out"}); });
  EXPECT_EQ(read_text_file(scratch.path() / "out/notes.txt"), "mine");
  EXPECT_EQ(scratch.entries(), 1u);
  expect_message("is a file",
                 [&] { import_gguf({.file = fixture("tiny_qwen3.gguf"), .output_dir = scratch.write("file", "x")}); });
}

TEST(ImportGguf, ForceReplacesTheModelAndKeepsOtherFiles) {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  import_gguf({.file = fixture("tiny_qwen2.gguf"), .output_dir = out, .shard_bytes = 20'000});
  std::ofstream(out / "notes.txt") << "mine";
  import_gguf({.file = fixture("tiny_llama.gguf"), .output_dir = out.string() + "/", .force = true});
  EXPECT_EQ(read_text_file(out / "notes.txt"), "mine");
  EXPECT_EQ(read_json_file(out / "config.json").at("model_type"), "llama");
  EXPECT_FALSE(fs::exists(out / "model.safetensors.index.json"));
  EXPECT_FALSE(fs::exists(out / "chat_template.jinja"));  // the older model's
  EXPECT_EQ(scratch.entries(), 1u);
}

TEST(ImportGguf, WritesThroughALinkAndIntoAnEmptyDirectory) {
  const Scratch scratch;
  fs::create_directory(scratch.path() / "real");
  fs::create_directory_symlink(scratch.path() / "real", scratch.path() / "link");
  import_gguf({.file = fixture("tiny_qwen3.gguf"), .output_dir = scratch.path() / "link"});
  EXPECT_TRUE(fs::is_symlink(scratch.path() / "link"));
  EXPECT_TRUE(fs::exists(scratch.path() / "real/model.safetensors"));
  import_gguf({.file = fixture("tiny_qwen3.gguf"), .output_dir = scratch.path() / "new/deep"});
  EXPECT_TRUE(fs::exists(scratch.path() / "new/deep/config.json"));
}

// A limit on file size stands in for a full disk: the write of the weights fails half way.
TEST(ImportGguf, LeavesNothingWhenAWriteFails) {
  const Scratch scratch;
  struct Limit {
    rlimit before{};
    void (*handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
    Limit() {
      ::getrlimit(RLIMIT_FSIZE, &before);
      const rlimit small{30'000, before.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &small);
    }
    ~Limit() {
      ::setrlimit(RLIMIT_FSIZE, &before);
      std::signal(SIGXFSZ, handler);
    }
  };
  const auto attempt = [&](const fs::path& out, bool force) {
    std::string message;
    {
      const Limit limit;
      try {
        import_gguf({.file = fixture("tiny_qwen2.gguf"), .output_dir = out, .force = force});
      } catch (const Error& e) {
        message = e.what();
      }
    }
    EXPECT_NE(message.find("model.safetensors: cannot write the file"), std::string::npos) << message;
  };
  attempt(scratch.path() / "out", false);
  EXPECT_EQ(scratch.entries(), 0u);

  import_gguf({.file = fixture("tiny_llama.gguf"), .output_dir = scratch.path() / "out"});
  attempt(scratch.path() / "out", true);  // the older model stays as it was
  EXPECT_EQ(read_json_file(scratch.path() / "out/config.json").at("model_type"), "llama");
  EXPECT_NO_THROW(Checkpoint::open(scratch.path() / "out"));
  EXPECT_EQ(scratch.entries(), 1u);
}

TEST(ImportGguf, ReportsProgressUpToTheWhole) {
  const Scratch scratch;
  std::uint64_t last = 0, whole = 0;
  import_gguf({.file = fixture("tiny_qwen3.gguf"),
               .output_dir = scratch.path() / "out",
               .progress = [&](std::uint64_t done, std::uint64_t total) {
                 EXPECT_GE(done, last);
                 last = done;
                 whole = total;
               }});
  EXPECT_GT(whole, 0u);
  EXPECT_EQ(last, whole);
}

// Whatever cannot be imported is refused before anything is written.
TEST(ImportGguf, RefusesWhatItCannotImport) {
  const auto refused = [](const std::string& message, const GgufBuilder& builder) {
    const Scratch scratch;
    const auto file = scratch.write("m.gguf", builder.bytes());
    const std::string got = message_of([&] { import_gguf({.file = file, .output_dir = scratch.path() / "out"}); });
    EXPECT_NE(got.find(message), std::string::npos) << "wanted: " << message << "\ngot: " << got;
    EXPECT_EQ(scratch.entries(), 1u);
  };
  const Scratch scratch;
  for (const char* arch : {"llama", "qwen2", "qwen3"}) {  // the tiny model itself is fine
    const auto file = scratch.write("m.gguf", tiny_gguf(arch).bytes());
    EXPECT_NO_THROW(import_gguf({.file = file, .output_dir = scratch.path() / arch}));
  }
  refused("expected llama, qwen2, qwen3, found \"mamba\"", tiny_gguf("mamba"));
  refused("\"general.architecture\" is missing", tiny_gguf("llama", {"general.architecture"}));
  refused("\"llama.block_count\" is missing", tiny_gguf("llama", {"llama.block_count"}));
  refused("makes no sense", tiny_gguf("llama", {"llama.block_count"}).u32("llama.block_count", 0));
  refused("not what it should be",
          tiny_gguf("llama", {"llama.attention.head_count"}).i32s("llama.attention.head_count", {2}));
  refused("the head counts do not fit",
          tiny_gguf("llama", {"llama.attention.head_count"}).u32("llama.attention.head_count", 3));
  refused("differs from the head size", tiny_gguf("llama").u32("llama.rope.dimension_count", 1));
  refused("a mixture of experts", tiny_gguf("llama").u32("llama.expert_count", 8));
  refused("sliding_window\" is not supported", tiny_gguf("qwen2").u32("qwen2.attention.sliding_window", 8));
  refused("rope scaling \"longrope\"", tiny_gguf("llama").text("llama.rope.scaling.type", "longrope"));
  refused("not a rope scaling of the kind llama3", tiny_gguf("llama").f32_tensor("rope_freqs.weight", {1}, {3}));
  refused("not a rope scaling of the kind llama3", tiny_gguf("llama").f32_tensor("rope_freqs.weight", {2}, {1, 8}));
  refused("\"token_embd.weight\" is missing", tiny_gguf("llama", {"token_embd.weight"}));
  refused("\"blk.0.ffn_up.weight\" is missing", tiny_gguf("llama", {"blk.0.ffn_up.weight"}));
  refused("\"blk.0.attn_k.bias\" is missing", tiny_gguf("qwen2", {"blk.0.attn_k.bias"}));
  refused("expected [4], found [5]",
          tiny_gguf("llama", {"output_norm.weight"}).f32_tensor("output_norm.weight", {5}, {1, 2, 3, 4, 5}));
  refused("tensor's type cannot be read",
          tiny_gguf("llama", {"output_norm.weight"}).tensor("output_norm.weight", {4}, 10, std::string(16, '\0')));
  refused("found type 77",
          tiny_gguf("llama", {"output_norm.weight"}).tensor("output_norm.weight", {4}, 77, std::string(16, '\0')));
  refused("\"blk.1.attn_norm.weight\" has no place",
          tiny_gguf("llama").f32_tensor("blk.1.attn_norm.weight", {4}, {1, 2, 3, 4}));

  refused("found \"t5\"", tiny_gguf("llama", {"tokenizer.ggml.model"}).text("tokenizer.ggml.model", "t5"));
  refused("found \"new-split\"", tiny_gguf("llama", {"tokenizer.ggml.pre"}).text("tokenizer.ggml.pre", "new-split"));
  refused("does not say how its tokenizer splits", tiny_gguf("llama", {"tokenizer.ggml.pre"}));
  refused("does not fit the embedding", tiny_gguf("llama", {"tokenizer.ggml.tokens"}));
  refused("does not fit the embedding",
          tiny_gguf("llama", {"tokenizer.ggml.tokens"}).texts("tokenizer.ggml.tokens", {"1", "2", "3", "4", "5", "6"}));
  refused("differ in length", tiny_gguf("llama", {"tokenizer.ggml.token_type"}).i32s("tokenizer.ggml.token_type", {1}));
  refused("occurs twice in the vocabulary",
          tiny_gguf("llama", {"tokenizer.ggml.tokens"}).texts("tokenizer.ggml.tokens", {"a", "b", "ab", "a", ""}));
  refused("\"tokenizer.ggml.merges\" is missing", tiny_gguf("llama", {"tokenizer.ggml.merges"}));
  for (const char* merge : {"a c", "b a", "ab", "", " ", "a b "})
    refused("does not lead from tokens to a token",
            tiny_gguf("llama", {"tokenizer.ggml.merges"}).texts("tokenizer.ggml.merges", {merge}));
  refused("not UTF-8",
          tiny_gguf("llama", {"tokenizer.ggml.tokens"}).texts("tokenizer.ggml.tokens", {"\xff", "a", "b", "ab", "x"}));
}

}  // namespace
}  // namespace tilewright::hub
