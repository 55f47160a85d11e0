// What --fuse auto decides, keeps and chooses, with planted times: nothing is timed here.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "base/error.h"
#include "base/mapped_file.h"
#include "engine/program.h"
#include "ops/core/tuning/tuner.h"
#include "safetensors/scratch.h"

namespace tilewright::test {
namespace {

using namespace ops;
using hub::Scratch;

std::vector<double> around(double seconds, int rounds = 9) {
  std::vector<double> out;
  for (int i = 0; i < rounds; ++i) out.push_back(seconds * (1 + 0.002 * (i % 3)));
  return out;
}

TEST(Decision, TakesTheFastestKernelThatIsSurelyFaster) {
  const std::vector<ArmTimes> arms{{std::string(kDecomposition), around(8)}, {"a", around(3)}, {"b", around(2)}};
  EXPECT_EQ(decide("k", arms).choice, "b");
  EXPECT_EQ(decide("k", {arms[0], arms[2], arms[1]}).choice, "b");
  EXPECT_EQ(decide("k", {arms[2], arms[0]}).choice, "b");  // the first arm is what others are held against
}

TEST(Decision, TiesStayWithTheDecomposition) {
  for (const double kernel : {1.0, 0.995, 1.5})
    EXPECT_EQ(decide("k", {{std::string(kDecomposition), around(1)}, {"a", around(kernel)}}).choice, kDecomposition)
        << kernel;
  // Faster by half as often as not: the interval holds 1.
  std::vector<double> wild;
  for (int i = 0; i < 12; ++i) wild.push_back(i % 2 ? 0.8 : 1.25);
  EXPECT_EQ(decide("k", {{std::string(kDecomposition), around(1, 12)}, {"a", wild}}).choice, kDecomposition);
  // Five rounds claim nothing, however clear they look.
  EXPECT_EQ(decide("k", {{std::string(kDecomposition), around(9, 5)}, {"a", around(1, 5)}}).choice, kDecomposition);
}

// For 6 values the extremes enclose the median with 1 - 2/64; for 9 the second ones with 1 - 2 · 10/512.
TEST(Decision, IntervalsAreThoseOfTheBinomialLaw) {
  const auto interval = [](int n) {
    std::vector<double> one(static_cast<std::size_t>(n), 1), times;
    for (int i = 1; i <= n; ++i) times.push_back(1.0 / i);
    return gain_of(one, times);
  };
  EXPECT_FALSE(interval(5).interval);
  EXPECT_DOUBLE_EQ(interval(6).low, 1);
  EXPECT_DOUBLE_EQ(interval(6).high, 6);
  EXPECT_DOUBLE_EQ(interval(9).low, 2);
  EXPECT_DOUBLE_EQ(interval(9).high, 8);
  EXPECT_DOUBLE_EQ(interval(25).low, 8);
  EXPECT_DOUBLE_EQ(interval(25).high, 18);
}

TEST(CallClass, NearestIsNeverASingleRowForSeveral) {
  EXPECT_EQ(row_class(1), 1);
  EXPECT_EQ(row_class(3), 4);
  EXPECT_EQ(row_class(16), 16);
  EXPECT_EQ(row_class(17), 32);
  EXPECT_EQ(row_class(512), 512);
  EXPECT_EQ(class_distance({1, 64}, {1, 64}), 0);
  EXPECT_EQ(class_distance({1, 64}, {1, 256}), 2);
  EXPECT_TRUE(std::isinf(class_distance({1}, {4})));
  EXPECT_TRUE(std::isinf(class_distance({4}, {512})));
  EXPECT_EQ(class_form("op bf16[~1,~512,64]c").form, class_form("op bf16[~4,~16,64]c").form);
  EXPECT_NE(class_form("op bf16[~1,~512,64]c").form, class_form("op bf16[~1,~512,65]c").form);
}

TEST(CallClass, GeometriesThatDifferHaveOtherNumbers) {
  const Program program;
  const auto device = program.devices.open("null");
  std::set<std::uint64_t> seen;
  std::size_t calls = 0;
  const auto see = [&](const std::vector<Tensor>& inputs, const Attributes& attributes) {
    seen.insert(geometry_hash({*program.operators.find("attention"), inputs, attributes, {}}));
    ++calls;
  };
  const auto empty = [&](DType dtype, const Shape& shape) {
    return runtime::empty(device->default_stream(), dtype, shape);
  };
  for (const DType dtype : {DType::f32, DType::bf16})
    for (std::int64_t rows = 1; rows <= 16; ++rows)
      for (std::int64_t width = 1; width <= 16; ++width)
        for (const std::int64_t window : {0, 1, 128}) {
          const Tensor x = empty(dtype, {rows, 17, width}), y = empty(dtype, {width});
          const Attributes attributes{{"window", window}};
          see({x, y}, attributes);
          see({y, x}, attributes);
          see({x, Tensor(), y}, attributes);
          see({x.transpose(0, 1), y}, attributes);
          see({x.unsqueeze(0), y}, attributes);
        }
  EXPECT_EQ(seen.size(), calls);
}

// A composite "wide" that calls a composite "narrow", each with two kernels, on the host. The decomposition and the
// kernels only count.
class Tuning : public testing::Test {
 protected:
  Tuning() : device(program.devices.open("host", {.threads = 1})) {
    add("narrow", {});
    add("wide", {"narrow"});
    registry.finish();
  }

  void add(const std::string& name, std::vector<std::string> calls) {
    OpSchema schema;
    schema.name = name;
    schema.kind = OpKind::composite;
    schema.memory_bound = false;
    schema.inputs = {{"x"}};
    schema.infer = [](const OpCall& call) -> std::vector<OutputSpec> {
      return {{call.input(0).dtype(), call.input(0).shape()}};
    };
    registry.add(schema);
    registry.set_decomposition(name, {calls, [this, name, calls](Context& context, const OpCall& call) {
                                        ran.push_back(name);
                                        for (const std::string& inner : calls)
                                          call_all(context, OpName(std::string_view(inner)), call.inputs);
                                        return Tensors{call.input(0)};
                                      }});
    for (const char* kernel : {".a", ".b"}) {
      Candidate candidate;
      candidate.name = name + kernel;
      candidate.refuse = [](Context&, const OpCall& call) {
        return call.input(0).dim(0) == 7 ? std::string("seven rows are not served") : std::string();
      };
      candidate.run = [this, text = candidate.name](Context&, const OpCall&) { ran.push_back(text); };
      registry.add_candidate(name, "host", candidate);
    }
  }

  TuningStore store(int threads = 1, const std::string& version = "1") {
    return TuningStore(scratch.path() / "tuning", {"host", "some processor", "avx2", threads, version});
  }
  // Times as planted, by candidate; 1 for the decomposition.
  Tuner tuner(TuningStore kept) {
    return Tuner(std::move(kept),
                 [this](Context& context, const OpCall& call, std::span<const Candidate* const> kernels) {
                   ++measured;
                   call_candidate(context, call.op, nullptr, call.inputs, call.attributes);
                   std::vector<ArmTimes> out{{std::string(kDecomposition), around(1)}};
                   for (const Candidate* kernel : kernels) out.push_back({kernel->name, around(planted[kernel->name])});
                   return out;
                 });
  }
  Context context(Tuner& by) {
    Context out(registry, device->default_stream());
    out.set_chooser(&by);
    return out;
  }
  std::vector<SeenCall> calls(std::int64_t rows) {
    CallCollector collector({});
    Context watched(registry, device->default_stream(), {}, &collector);
    call_all(watched, "wide", {rows_of(rows)});
    ran.clear();
    return collector.take();
  }
  Tensor rows_of(std::int64_t rows) { return runtime::empty(device->default_stream(), DType::f32, {rows, 8}); }
  void prepare(Tuner& by, std::int64_t rows) {
    const std::vector<SeenCall> seen = calls(rows);
    by.prepare(registry, device->default_stream(), seen);
    ran.clear();
  }
  std::vector<std::string> run(Tuner& by, std::int64_t rows) {
    Context one = context(by);
    ran.clear();
    call_all(one, "wide", {rows_of(rows)});
    return ran;
  }

  const tilewright::Program program;
  std::shared_ptr<runtime::Device> device;
  Registry registry;
  Scratch scratch;
  std::map<std::string, double> planted{{"narrow.a", 2}, {"narrow.b", 0.5}, {"wide.a", 1.1}, {"wide.b", 1.2}};
  std::vector<std::string> ran;
  int measured = 0;
};

TEST_F(Tuning, ComposesWhatIsFastestFromTheInsideOut) {
  const std::vector<SeenCall> seen = calls(4);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].op->schema.name, "narrow");  // inner ones first
  Tuner by = tuner(store());
  prepare(by, 4);
  EXPECT_EQ(measured, 2);
  EXPECT_EQ(run(by, 4), (std::vector<std::string>{"wide", "narrow.b"}));
  planted["wide.b"] = 0.3;
  Tuner other = tuner(store(2));
  prepare(other, 4);
  EXPECT_EQ(run(other, 4), (std::vector<std::string>{"wide.b"}));
}

TEST_F(Tuning, WhatIsStoredIsNotMeasuredAgain) {
  {
    Tuner first = tuner(store());
    prepare(first, 4);
    EXPECT_TRUE(first.report().stored);
  }
  planted["narrow.b"] = 9;  // would be decided otherwise now
  measured = 0;
  Tuner second = tuner(store());
  prepare(second, 4);
  EXPECT_EQ(measured, 0);
  EXPECT_EQ(second.report().classes, 2);
  EXPECT_EQ(run(second, 3).back(), "narrow.b");  // 2 to 4 rows are one class
  prepare(second, 1);
  EXPECT_EQ(measured, 2);
}

TEST_F(Tuning, AnotherDeviceOrVersionMeasuresForItself) {
  Tuner first = tuner(store());
  prepare(first, 4);
  for (TuningStore& other : std::vector<TuningStore>{store(2), store(1, "2")}) EXPECT_TRUE(other.decisions().empty());
  // Not even under our file's name.
  std::filesystem::rename(first.store().file(), store(2).file());
  EXPECT_TRUE(store(2).decisions().empty());
}

TEST_F(Tuning, UnknownGeometryRunsAsItsNearestClassOrByItsDecomposition) {
  Tuner by = tuner(store());
  EXPECT_EQ(run(by, 64), (std::vector<std::string>{"wide", "narrow"}));
  prepare(by, 64);
  EXPECT_EQ(run(by, 512), (std::vector<std::string>{"wide", "narrow.b"}));
  EXPECT_EQ(run(by, 1), (std::vector<std::string>{"wide", "narrow"}));
  EXPECT_EQ(measured, 2);  // never within a run
}

TEST_F(Tuning, RefusalsRunTheDecompositionAndAreCounted) {
  Tuner by = tuner(store());
  prepare(by, 16);
  EXPECT_EQ(run(by, 7), (std::vector<std::string>{"wide", "narrow"}));
  run(by, 16);
  FallbackLog log;
  by.add_counts(log);
  ASSERT_EQ(log.kernels().size(), 1u);
  EXPECT_EQ(log.kernels()[0].candidate, "narrow.b");
  EXPECT_EQ(log.kernels()[0].count, 1);
  EXPECT_EQ(log.counts().at({"narrow", "decomposition", "seven rows are not served"}), 1);
}

TEST_F(Tuning, SwitchedOnWinsOverTheChoice) {
  Tuner by = tuner(store());
  prepare(by, 4);
  Context one(registry, device->default_stream(), Switches::parse(registry, "wide"));
  one.set_chooser(&by);
  call_all(one, "wide", {rows_of(4)});
  EXPECT_EQ(ran, (std::vector<std::string>{"wide.a"}));
}

TEST_F(Tuning, WholeNumbersThatAreNotRealAreNotMeasured) {
  std::vector<SeenCall> seen = calls(4);
  for (SeenCall& one : seen) one.measurable = false;
  Tuner by = tuner(store());
  by.prepare(registry, device->default_stream(), seen);
  EXPECT_EQ(measured, 0);
  EXPECT_EQ(run(by, 4), (std::vector<std::string>{"wide", "narrow"}));
}

TEST_F(Tuning, BrokenFilesAreIgnoredAndWrittenAnew) {
  Tuner first = tuner(store());
  prepare(first, 4);
  const std::filesystem::path file = first.store().file();
  const std::string whole = read_text_file(file);
  const Json json = Json::parse(whole);
  ASSERT_EQ(store().decisions().size(), 2u);
  std::vector<std::string> texts{"",
                                 "{",
                                 "[]",
                                 "null",
                                 whole.substr(0, whole.size() / 2),
                                 std::string(9 << 20, '['),
                                 std::string(100'000, '['),
                                 "{\"format\": 7}"};
  const auto changed = [&](const char* pointer, const Json& value) {
    Json other = json;
    other[Json::json_pointer(pointer)] = value;
    texts.push_back(other.dump());
  };
  changed("/format", "tilewright-tuning-0");
  changed("/device/threads", 9);
  changed("/decisions", 3);
  for (const std::string& text : texts) {
    std::ofstream(file) << text;
    EXPECT_TRUE(store().decisions().empty()) << text.substr(0, 60);
  }
  measured = 0;
  Tuner again = tuner(store());
  prepare(again, 4);
  EXPECT_EQ(measured, 2);
  EXPECT_EQ(store().decisions().size(), 2u);
  // One decision that does not fit costs that one alone, and a choice that nobody knows is none.
  for (const auto& [pointer, value] :
       std::multimap<std::string, Json>{{"/decisions/0/choice", "narrow.z"},
                                        {"/decisions/0/call", 1},
                                        {"/decisions/0/call", "\x1b[2J"},
                                        {"/decisions/0/arms", Json::array()},
                                        {"/decisions/0/arms/0/median_s", -1},
                                        {"/decisions/0/arms/0/name", std::string(3000, 'x')},
                                        {"/decisions/0/arms/1/gain_interval", {1, "2"}}}) {
    Json other = json;
    other[Json::json_pointer(pointer)] = value;
    std::ofstream(file) << other.dump();
    EXPECT_EQ(store().decisions().size(), 1u) << pointer;
  }
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  Tuner blocked = tuner(store());
  prepare(blocked, 4);
  EXPECT_FALSE(blocked.report().stored);
  EXPECT_EQ(run(blocked, 4).back(), "narrow.b");
}

TEST_F(Tuning, ProcessesKeepEachOthersDecisions) {
  constexpr int kProcesses = 4, kEach = 20;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < kEach; ++i) {
        TuningStore mine = store();
        mine.add(decide("op [" + std::to_string(p) + "," + std::to_string(i) + "] |",
                        {{std::string(kDecomposition), around(1)}}));
        if (!mine.save()) _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(store().decisions().size(), std::size_t{kProcesses * kEach});
}

TEST_F(Tuning, FilesAreBounded) {
  TuningStore full = store();
  for (std::size_t i = 0; i < TuningStore::kMostDecisions + 10; ++i)
    full.add(decide("op [" + std::to_string(i) + "] |", {{std::string(kDecomposition), around(1)}}));
  EXPECT_TRUE(full.save());
  const TuningStore read = store();
  EXPECT_EQ(read.decisions().size(), TuningStore::kMostDecisions);
  EXPECT_EQ(read.decisions().back().key, full.decisions().back().key);
  for (std::size_t i = 0; i < TuningStore::kMostFiles + 5; ++i) {
    TuningStore other = store(static_cast<int>(i) + 2);
    other.add(decide("op |", {{std::string(kDecomposition), around(1)}}));
    other.save();
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path() / "tuning"))
    files += entry.path().extension() == ".json";
  EXPECT_EQ(files, TuningStore::kMostFiles);
}

TEST_F(Tuning, MoreGeometriesThanThereAreSlotsAreCountedAll) {
  Tuner by = tuner(store());
  Context one = context(by);
  for (int i = 1; i <= 5000; ++i) call_all(one, "narrow", {rows_of(1).expand({1, 8}).view({1, 8}).expand({i, 8})});
  FallbackLog log;
  by.add_counts(log);
  EXPECT_EQ(log.counts().at({"narrow", "decomposition", "not measured on this device"}) +
                log.counts().at({"narrow", "decomposition", "seven rows are not served"}),
            5000);
}

}  // namespace
}  // namespace tilewright::test
