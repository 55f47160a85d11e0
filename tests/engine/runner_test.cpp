// A replayed pass leaves what the same pass leaves when it is submitted launch by launch: bit for bit.
#include "engine/runner.h"

#include <gtest/gtest.h>

#include "models/model_fixture.h"

namespace tilewright::test {
namespace {

using engine::Runner;
using engine::Session;
using engine::Submission;

HostTensor prompt_of(std::int64_t batch, std::int64_t rows, std::int64_t vocabulary) {
  HostTensor out(DType::i64, {batch, rows});
  for (std::int64_t i = 0; i < batch * rows; ++i) out.data<std::int64_t>()[i] = (11 * i + 5) % vocabulary;
  return out;
}

std::vector<std::byte> bytes_of(Session& session, const ops::Tensor& tensor) {
  return runtime::to_host(session.stream(), tensor).bytes;
}

struct Case {
  std::string model;
  std::optional<DType> dtype = {};
  std::string fuse = "none";
  int threads = 1;
  std::int64_t batch = 1;
  std::string device = "host";
};

// The same work by an eager runner and by one that replays, compared after each pass.
class Pair {
 public:
  explicit Pair(const Case& c) : Pair(c, options_of(c)) {}
  void begin(std::int64_t batch, std::int64_t length) {
    batch_ = batch;
    eager_.begin(batch, length);
    graph_.begin(batch, length);
  }
  void prefill(std::int64_t rows) {
    const HostTensor ids = prompt_of(batch_, rows, one_.model().info().vocab_size);
    eager_.prefill(ids, true);
    graph_.prefill(ids);
    compare("prompt of " + std::to_string(rows));
  }
  void step() {
    eager_.step();
    graph_.step();
    compare("position " + std::to_string(one_.length() - 1));
  }
  void steps(int count) {
    for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) step();
  }
  void compare_state() {
    for (std::size_t i = 0; i < one_.state().tensors.size(); ++i)
      EXPECT_EQ(bytes_of(one_, one_.state().tensors[i].tensor), bytes_of(two_, two_.state().tensors[i].tensor))
          << label_ << " " << one_.state().tensors[i].name;
  }
  Runner& eager() { return eager_; }
  Runner& graph() { return graph_; }

 private:
  static engine::SessionOptions options_of(const Case& c) {
    engine::SessionOptions out = options_for(test_model(c.model), c.dtype);
    out.fuse = c.fuse;
    out.device_options.threads = c.threads;
    out.device = c.device;
    return out;
  }
  Pair(const Case& c, const engine::SessionOptions& options)
      : label_(c.model + " --fuse " + c.fuse),
        batch_(c.batch),
        loaded_(std::make_shared<engine::LoadedModel>(program(), options)),
        one_(loaded_, options),
        two_(loaded_, options),
        eager_(one_, Submission::eager),
        graph_(two_, Submission::graph) {}
  void compare(const std::string& when) {
    EXPECT_EQ(one_.length(), two_.length());
    EXPECT_EQ(eager_.hidden().shape(), graph_.hidden().shape());
    EXPECT_EQ(eager_.logits().shape(), graph_.logits().shape());
    EXPECT_EQ(bytes_of(one_, eager_.hidden()), bytes_of(two_, graph_.hidden())) << label_ << " hidden, " << when;
    EXPECT_EQ(bytes_of(one_, eager_.logits()), bytes_of(two_, graph_.logits())) << label_ << " logits, " << when;
    EXPECT_EQ(bytes_of(one_, eager_.token()), bytes_of(two_, graph_.token())) << label_ << " token, " << when;
  }

  std::string label_;
  std::int64_t batch_;
  std::shared_ptr<engine::LoadedModel> loaded_;
  Session one_, two_;
  Runner eager_, graph_;
};

std::vector<std::string> all_models() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "tests/models/data"))
    if (entry.is_directory()) out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(PrefillBucket, IsTheLeastThatHoldsThem) {
  std::vector<std::int64_t> buckets = {16, 32, 64, 128};
  for (std::int64_t b = 256; b <= 2048; b += 256) buckets.push_back(b);
  for (std::int64_t rows = 1; rows <= 2048; ++rows)
    ASSERT_EQ(engine::prefill_bucket(rows), *std::lower_bound(buckets.begin(), buckets.end(), rows));
}

TEST(Runner, EveryModelReplaysAsItRuns) {
  for (const std::string& model : all_models())
    for (const char* fuse : {"none", "all"}) {
      Pair pair({.model = model, .fuse = fuse});
      // A padded prompt would exceed what a dynamic scaling covers by its table.
      const bool dynamic = model.find("dynamic") != std::string::npos;
      pair.begin(1, dynamic ? 12 : 20);
      if (!dynamic) pair.prefill(7);
      pair.steps(6);
      pair.compare_state();
      if (HasFailure()) return;
    }
}

TEST(Runner, AcrossTheBordersOfBuckets) {
  for (const char* model : {"qwen3-base", "qwen2-window"})
    for (const char* fuse : {"none", "all"})
      for (const int threads : {1, 2}) {
        Pair pair({.model = model, .dtype = DType::bf16, .fuse = fuse, .threads = threads});
        pair.begin(1, 520);
        pair.prefill(249);
        pair.steps(12);  // 249 … 260
        pair.begin(1, 520);
        pair.prefill(509);
        pair.steps(7);  // 509 … 515
        pair.compare_state();
        EXPECT_EQ(pair.graph().costs().graphs, 5);  // prompts of 256 and 512; 256, 512 and 768 positions
        if (HasFailure()) return;
      }
}

TEST(Runner, PromptsOfAllLengthsAroundBuckets) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    Pair pair({.model = "qwen3-base", .dtype = dtype, .fuse = dtype == DType::bf16 ? "all" : "none"});
    for (const std::int64_t rows : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257}) {
      pair.begin(1, 300);
      pair.prefill(rows);
      pair.steps(2);
      if (HasFailure()) return;
    }
  }
}

// Padding changes how many rows a kernel is given, not what the real ones are: f32 sums in another order.
TEST(Runner, PaddedRowsDoNotReachRealOnes) {
  for (const char* name : {"qwen3-base", "qwen3-window", "llama-yarn-outer"}) {
    Session session(program(), options_for(test_model(name), DType::f32));
    const HostTensor ids = prompt_of(2, 21, session.model().info().vocab_size);
    Runner runner(session, Submission::eager);
    const auto logits = [&](bool padded) {
      std::vector<float> out;
      runner.begin(2, 40);
      runner.prefill(ids, padded);
      for (int i = 0; i < 3; ++i) {
        const auto now = session.read_logits(runner.logits());
        out.insert(out.end(), now.begin(), now.end());
        runner.step();
      }
      return out;
    };
    const auto plain = logits(false), padded = logits(true);
    ASSERT_EQ(plain.size(), padded.size());
    for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(plain[i], padded[i], 1e-3) << name << " " << i;
  }
}

TEST(Runner, ABatchOfTwo) {
  for (const char* fuse : {"none", "all"}) {
    Pair pair({.model = "qwen3-base", .fuse = fuse, .threads = 2, .batch = 2});
    pair.begin(2, 300);
    pair.prefill(13);
    pair.steps(5);
    pair.compare_state();
  }
}

TEST(Runner, GraphsStayWhileBatchAndRoomStay) {
  Pair pair({.model = "qwen3-base"});
  for (int round = 0; round < 3; ++round) {
    pair.begin(1, 40 + round);
    pair.prefill(5 + round);
    pair.steps(3);
    EXPECT_EQ(pair.graph().costs().graphs, 2);
  }
  pair.begin(1, 300);  // another room
  EXPECT_EQ(pair.graph().decode_graph(5), nullptr);
  EXPECT_EQ(pair.graph().prefill_graph(5), nullptr);
  pair.prefill(5);
  pair.steps(3);
  pair.begin(2, 300);  // another batch
  pair.prefill(5);
  pair.steps(3);
  EXPECT_EQ(pair.graph().costs().graphs, 6);
  pair.compare_state();
}

TEST(Runner, PrepareCapturesAheadAndLeavesTheStateAsNew) {
  Pair pair({.model = "qwen3-base"});
  pair.begin(1, 520);
  pair.graph().prepare(20, 520);
  EXPECT_EQ(pair.graph().session().length(), 0);
  pair.compare_state();
  EXPECT_EQ(pair.graph().costs().graphs, 4);
  for (const std::int64_t position : {1, 255, 256, 511, 512}) EXPECT_NE(pair.graph().decode_graph(position), nullptr);
  EXPECT_EQ(pair.graph().decode_graph(255), pair.graph().decode_graph(20));
  EXPECT_NE(pair.graph().decode_graph(255), pair.graph().decode_graph(256));
  EXPECT_EQ(pair.graph().decode_graph(0), nullptr);
  pair.prefill(20);
  pair.steps(4);
  EXPECT_EQ(pair.graph().costs().graphs, 4);
  EXPECT_GT(pair.graph().costs().capture_s, 0);
}

TEST(Runner, WithoutAPrompt) {
  Pair pair({.model = "llama-base"});
  pair.begin(1, 20);
  const std::int64_t first[] = {3};
  pair.eager().set_token(first);
  pair.graph().set_token(first);
  pair.steps(4);
}

// What was replayed and what is run launch by launch work on one state.
TEST(Runner, EagerPassesMayFollow) {
  Pair pair({.model = "qwen3-base"});
  pair.begin(1, 40);
  pair.prefill(9);
  pair.steps(3);
  Session &a = pair.eager().session(), &b = pair.graph().session();
  const HostTensor more = prompt_of(1, 4, 100);
  const ops::Tensor x = a.all_logits(a.run(more)), y = b.all_logits(b.run(more));
  EXPECT_EQ(bytes_of(a, x), bytes_of(b, y));
  pair.steps(3);
  pair.compare_state();
}

TEST(Runner, TeacherForcing) {
  Pair pair({.model = "qwen3-base", .threads = 2});
  pair.begin(1, 40);
  pair.prefill(9);
  for (std::int64_t id = 0; id < 5; ++id) {
    pair.eager().set_token({&id, 1});
    pair.graph().set_token({&id, 1});
    pair.step();
  }
  EXPECT_EQ(pair.eager().read_token(), pair.graph().read_token());
}

// Ten thousand replays of a decode step: the same tokens and logits in every sequence, and no more memory.
TEST(Runner, TenThousandStepsNeedNoMemoryAndRepeatThemselves) {
  for (const char* fuse : {"none", "all"}) {
    engine::SessionOptions options = options_for(test_model("qwen3-base"));
    options.fuse = fuse;
    options.device_options.threads = 2;
    Session session(program(), options);
    Runner runner(session, Submission::graph);
    const HostTensor ids = prompt_of(1, 6, 90);
    std::vector<std::int64_t> tokens;
    std::vector<std::byte> logits;
    runtime::MemoryStats settled;
    for (int done = 0, sequence = 0; done < 10000; done += 250, ++sequence) {
      runner.begin(1, 256);
      runner.prefill(ids);
      std::vector<std::int64_t> now;
      for (int step = 0; step < 250; ++step) {
        now.push_back(runner.read_token());
        runner.step();
      }
      if (sequence == 0) {
        tokens = now;
        logits = bytes_of(session, runner.logits());
        settled = session.stream().memory_stats();
        continue;
      }
      ASSERT_EQ(now, tokens) << "sequence " << sequence;
      ASSERT_EQ(bytes_of(session, runner.logits()), logits) << "sequence " << sequence;
    }
    const runtime::MemoryStats after = session.stream().memory_stats();
    EXPECT_EQ(after.reserved, settled.reserved);
    EXPECT_EQ(after.allocated, settled.allocated);
    EXPECT_EQ(after.peak, settled.peak);
    EXPECT_EQ(runner.costs().graphs, 2);
  }
}

// Buffers that cannot be read between launches, as on an accelerator.
TEST(Runner, WithoutAddresses) {
  for (const char* fuse : {"none", "all"})
    for (const int threads : {1, 2}) {
      Pair pair({.model = "qwen3-base", .fuse = fuse, .threads = threads, .device = "host:opaque"});
      pair.begin(1, 40);
      pair.prefill(9);
      pair.steps(6);
      pair.compare_state();
    }
}

// Sequences that were begun behind the runner's back lie elsewhere: no graph writes to the old ones unnoticed.
TEST(Runner, AnotherStateIsRefused) {
  Session session(program(), options_for(test_model("qwen3-base")));
  Runner runner(session, Submission::graph);
  runner.begin(1, 40);
  runner.prefill(prompt_of(1, 5, 90));
  runner.step();
  session.begin(1, 600);
  session.begin(1, 40);
  for (int i = 0; i < 2; ++i) try {
      runner.prefill(prompt_of(1, 5, 90));
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.text().code, 507015) << e.what();
    }
}

// Decisions of `auto` hang on shapes alone, which are the same while capturing.
TEST(Runner, FuseAutoDecidesTheSame) {
  Pair pair({.model = "qwen3-bf16", .fuse = "auto"});
  pair.eager().session().prepare(1, 16, 40);
  pair.graph().session().prepare(1, 16, 40);
  pair.begin(1, 40);
  pair.prefill(9);
  pair.steps(3);
}

TEST(Runner, LongerThanAsked) {
  Pair pair({.model = "qwen3-base"});
  pair.begin(1, 10);
  pair.prefill(9);
  pair.steps(6);
  EXPECT_LE(pair.graph().costs().graphs, 3);
  for (std::int64_t left = pair.graph().session().room() - pair.graph().session().length(); left > 0; --left)
    pair.graph().step();
  const std::string message = message_of([&] { pair.graph().step(); });
  EXPECT_NE(message.find("longer than the context"), std::string::npos) << message;
}

// Beyond its table a dynamic scaling copies from pageable memory in each pass: no graph, and no wrong one either.
TEST(Runner, DynamicScalingBeyondItsTableIsRefused) {
  Session session(program(), options_for(test_model("qwen3-dynamic")));  // 16 positions
  Runner runner(session, Submission::graph);
  runner.begin(1, 12);
  for (int i = 0; i < 12; ++i) runner.step();
  for (int i = 12; i < 14; ++i) {
    try {
      runner.step();
      FAIL();
    } catch (const Error& e) {
      EXPECT_TRUE(e.text().code && (*e.text().code == 107030 || *e.text().code == 107041 || *e.text().code == 107000));
    }
  }
  EXPECT_EQ(session.length(), 12);
  Runner eager(session, Submission::eager);  // the session works on
  eager.begin(1, 24);
  eager.prefill(prompt_of(1, 20, 90));
  eager.step();
  EXPECT_EQ(session.length(), 21);
}

TEST(Runner, BadPromptsAreRefusedAndNothingIsLost) {
  Session session(program(), options_for(test_model("qwen3-base")));
  Runner runner(session, Submission::graph);
  runner.begin(1, 20);
  HostTensor ids = prompt_of(1, 5, 100);
  ids.data<std::int64_t>()[3] = 1 << 20;
  expect_message("outside the model's vocabulary", [&] { runner.prefill(ids); });
  expect_message("longer than the context", [&] { runner.prefill(prompt_of(1, 257, 100)); });
  runner.prefill(prompt_of(1, 5, 100));
  runner.step();
  EXPECT_EQ(session.length(), 6);
}

}  // namespace
}  // namespace tilewright::test
