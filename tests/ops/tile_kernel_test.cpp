// Tile kernels in the registry: what they demand, what is kept between calls, what observers see.
#include "ops/core/tile_kernel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/error.h"
#include "ops/core/code_generator.h"
#include "ops/ops_fixture.h"
#include "tile/build/builder.h"

namespace tilewright {
namespace {

using namespace ops;

// Notes what it is asked to compile and what launches carry; the launch itself does nothing.
struct FakeGenerator : CodeGenerator {
  struct Kernel : CompiledKernel {
    explicit Kernel(FakeGenerator& owner) : owner(owner) {}
    void complete(runtime::Launch& launch, const runtime::Device&,
                  std::span<const std::int64_t> values) const override {
      static const runtime::Kernel nothing{"nothing", nullptr};
      launch.kernel = &nothing;
      owner.values.assign(values.begin(), values.end());
    }
    FakeGenerator& owner;
  };
  std::unique_ptr<CompiledKernel> compile(const tile::Program& program) override {
    ++compiled;
    if (program.tensors[0].dtype == DType::f16)
      fail({.what = "no compiler", .where = "", .expected = "", .found = "", .fix = "install one"});
    return std::make_unique<Kernel>(*this);
  }
  std::string status() const override { return "fake"; }
  std::atomic<int> compiled{0};
  std::vector<std::int64_t> values;
};

// y = x + bias[row] with the width as a number, on the null device.
class TileKernels : public testing::Test {
 protected:
  TileKernels() {
    OpSchema schema;
    schema.name = "shift";
    schema.kind = OpKind::composite;
    schema.memory_bound = false;  // nothing is derived: the decomposition's runs are counted
    schema.inputs = {{"x"}, {"count"}};
    schema.attributes = {{"by", "float", ""}};
    schema.infer = [](const OpCall& call) -> std::vector<OutputSpec> {
      return {{call.input(0).dtype(), call.input(0).shape()}};
    };
    registry.add(schema);
    registry.set_decomposition("shift", {{}, [this](Context& context, const OpCall& call) {
                                           ++decomposed;
                                           return Tensors{context.empty(call.input(0).dtype(), call.input(0).shape())};
                                         }});
    TileKernel kernel;
    kernel.name = "shift by rows";
    kernel.numbers = {"width"};
    kernel.refuse = [](const OpCall& call) {
      return call.attributes.number("by", 0) < 0 ? std::string("shifts down are not served") : std::string();
    };
    kernel.specialise = [](const OpCall& call) {
      return Specialisation{.dtype = call.input(0).dtype(), .numbers = {call.input(0).dim(1)}};
    };
    kernel.build = [](const Specialisation& s) {
      tile::Builder b("shift");
      const tile::Dim rows = b.dim("rows");
      const auto x = b.input("x", s.dtype, {rows, s.numbers[0]});
      const auto count = b.input("count", DType::i32, {rows});
      const auto y = b.output("y", s.dtype, {rows, s.numbers[0]});
      const tile::Tile by = b.scalar("by");
      b.index_scalar("unused");
      b.parallel("row", 0, rows, 1, [&](tile::Index row) {
        b.parallel("column", 0, b.load(count, {row}), 1, [&](tile::Index column) {
          b.assemble(cast(cast(b.view(x, {row, column}, {1, 1}, tile::to_end), DType::f32) + by, s.dtype), y,
                     {row, column});
        });
        b.assemble(b.view(x, {row, 0}, {1, 4}, tile::to_end), y, {row, 0});
      });
      return b.finish();
    };
    kernel.bind = [](const OpCall& call) {
      return TileArguments{{call.input(0), call.input(1), call.outputs[0]}, {call.attributes.number("by", 0), 7}};
    };
    registry.add_tile_kernel("shift", std::move(kernel));
    generator = std::make_shared<FakeGenerator>();
    registry.set_code_generator("null", generator);
    registry.finish();
  }
  // Calls with everything on; why no kernel ran, or empty.
  std::string call_shift(const Tensor& x, const Tensor& count, double by = 0.5) {
    FallbackLog log;
    Watch watch;
    ObserverList both;
    both.add(log);
    both.add(watch);
    Context context(registry, bench.device->default_stream(), Switches::parse(registry, "all"), &both);
    last = {};
    call(context, "shift", {x, count}, {{"by", by}});
    last = watch.launches;
    fused = log.kernels().empty() ? 0 : log.kernels()[0].count;
    const Op& op = registry.get("shift");
    const std::vector<Tensor> inputs{x, count};
    const Attributes attributes{{"by", by}};
    const std::string asked = op.candidates_for("null")->front().refuse(context, OpCall{op, inputs, attributes, {}});
    std::string reason;
    for (const auto& [key, count_of] : log.counts())
      if (key.candidate == "shift by rows") reason = key.reason;
    EXPECT_EQ(asked, reason);  // asking without running gives the same answer
    return reason;
  }
  struct Watch : Observer {
    std::vector<runtime::Launch> launches;
    void launched(const runtime::Launch& launch) override { launches.push_back(launch); }
  };

  Registry registry;
  std::shared_ptr<FakeGenerator> generator;
  test::Bench bench{"null"};
  Context plain{registry, bench.device->default_stream()};
  Tensor count = plain.empty(DType::i32, {3});
  std::vector<runtime::Launch> last;
  int decomposed = 0;
  long fused = 0;
};

TEST_F(TileKernels, LaunchWithTheValuesOfTheProgram) {
  const Tensor x = plain.empty(DType::f32, {3, 8}).slice(1, 0, 4);
  EXPECT_EQ(call_shift(x, count), "");
  EXPECT_EQ(decomposed, 0);
  EXPECT_EQ(fused, 1);
  ASSERT_EQ(last.size(), 1u);
  // rows; strides of x, count, y; the scalars.
  EXPECT_EQ(generator->values, (std::vector<std::int64_t>{3, 8, 1, 1, 4, 1, 0x3f000000, 7}));
  const auto buffers = last[0].buffers();
  ASSERT_EQ(buffers.size(), 3u);
  EXPECT_TRUE(buffers[0].read && !buffers[0].write && buffers[2].write && !buffers[2].read);
  EXPECT_EQ(last[0].device_extents, &count.memory());
  EXPECT_STREQ(last[0].op, "shift");
  EXPECT_EQ(last[0].cost.bytes_written, 3 * 4 * 4.0);
}

TEST_F(TileKernels, AreCompiledOncePerSpecialisation) {
  for (int i = 0; i < 3; ++i)
    for (const std::int64_t rows : {1, 3, 100}) {
      const Tensor counts = plain.empty(DType::i32, {rows});
      EXPECT_EQ(call_shift(plain.empty(DType::f32, {rows, 4}), counts), "");
      EXPECT_EQ(call_shift(plain.empty(DType::bf16, {rows, 4}), counts), "");
      EXPECT_EQ(call_shift(plain.empty(DType::bf16, {rows, 6}), counts), "");
    }
  EXPECT_EQ(generator->compiled, 3);
}

TEST_F(TileKernels, SayWhyTheyRefuseAndFallBack) {
  const Tensor x = plain.empty(DType::f32, {3, 4});
  EXPECT_EQ(call_shift(x, count, -1), "shifts down are not served");
  EXPECT_EQ(call_shift(x, plain.empty(DType::i32, {2})), "dim 0 of count is 2, but rows is 3 elsewhere");
  EXPECT_EQ(call_shift(x, plain.empty(DType::i64, {3})), "count is i64, the program takes i32");
  EXPECT_EQ(call_shift(x, plain.empty(DType::i32, {3, 1})), "count has 2 dims, the program takes 1");
  EXPECT_EQ(call_shift(x, Tensor()), "count is not given");
  EXPECT_EQ(call_shift(plain.empty(DType::f32, {4, 3}).transpose(0, 1), count),
            "dim 1 of x has stride 3, the program reads it with stride 1");
  EXPECT_EQ(call_shift(Tensor(x.memory_ref(), DType::f32, {3, 4}, {4, 1}, 0, Layout::panel32), count),
            "x is packed (f32 [3, 4] panel32)");
  EXPECT_EQ(decomposed, 7);
  EXPECT_EQ(fused, 0);
}

TEST_F(TileKernels, WithoutACompilerAreAskedForOnce) {
  const Tensor x = plain.empty(DType::f16, {3, 4});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call_shift(x, count), "no compiler; install one");
  EXPECT_EQ(generator->compiled, 1);
}

TEST_F(TileKernels, ServeThreadsAtOnce) {
  const Op& op = registry.get("shift");
  const Candidate& candidate = op.candidates_for("null")->front();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::int64_t width = 1; width <= 32; ++width) {
        const std::vector<Tensor> inputs{plain.empty(DType::f32, {3, width}), count};
        const Attributes attributes;
        EXPECT_EQ(candidate.refuse(plain, OpCall{op, inputs, attributes, {}}), "");
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(generator->compiled, 32);
}

TEST(InlineList, CopiesMovesAndDestroysItsItems) {
  const auto shared = std::make_shared<int>(1);
  {
    InlineList<std::shared_ptr<int>, 4> a{shared, shared};
    InlineList<std::shared_ptr<int>, 4> b = a;
    EXPECT_EQ(shared.use_count(), 5);
    b = std::move(a);
    b.push_back(shared);
    EXPECT_EQ(b.size(), 3u);
    EXPECT_EQ(*b[2], 1);
    EXPECT_EQ(shared.use_count(), 4);
    EXPECT_DEATH(for (int i = 0; i < 2; ++i) b.push_back(shared), "size_ < N");
  }
  EXPECT_EQ(shared.use_count(), 1);
}

}  // namespace
}  // namespace tilewright
