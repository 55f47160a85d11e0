// What the capture toolkit says of models, of passes that cannot be captured, and of illegal actions put into them.
#include <gtest/gtest.h>

#include <set>

#include "engine/capture/bisect.h"
#include "engine/capture/capture_and_replay.h"
#include "engine/capture/capture_work.h"
#include "engine/capture/check_capture.h"
#include "engine/capture/model_passes.h"
#include "engine/generate.h"
#include "engine/trace_forward.h"
#include "models/model_fixture.h"

namespace tilewright::test {
namespace {

using engine::bisect_capture;
using engine::BisectStage;
using engine::CaptureFailure;
using engine::CheckedPass;
using engine::Injection;
using engine::InjectionKind;
using engine::Session;

constexpr ops::OpName kAdd{"add"}, kMul{"mul"}, kFull{"full"};

struct Small {
  Session session{program(), options_for(test_model("qwen3-base"))};
  ops::Context& context = session.context();
  ops::Tensor x = context.empty(DType::f32, {4});

  Small() { fill(x, 2); }
  void fill(const ops::Tensor& t, double value) {
    ops::call_into(context, kFull, {}, t, {{"shape", t.shape()}, {"value", value}, {"dtype", t.dtype()}});
  }
  CheckedPass pass(std::function<ops::Tensor(ops::Context&, int)> run) {
    CheckedPass out;
    out.name = "pass";
    out.reset = [] {};
    out.run = [run = std::move(run)](ops::Context& context, int which) {
      const ops::PathScope scope(context, "layers.0.mlp");
      return run(context, which);
    };
    return out;
  }
};

TEST(CaptureAndReplay, RunsAsOftenAsItSays) {
  Small small;
  const ops::Tensor count = small.context.empty(DType::f32, {1});
  small.fill(count, 0);
  const engine::ReplayTimes times = engine::capture_and_replay(small.context, [&](ops::Context& context) {
    ops::call_into(context, kAdd, {count}, count, {{"other", 1.0}});
  });
  EXPECT_EQ(times.launches, 1);
  EXPECT_EQ(times.seconds.size(), 20u);
  EXPECT_GT(times.best_s, 0);
  EXPECT_LE(times.best_s, times.median_s);
  EXPECT_EQ(runtime::to_host(small.session.stream(), count).at(0), 25);  // 3 + 2 + 20: the capture itself runs nothing
}

TEST(CheckPass, AValueOfTheHostIsLikely507011) {
  Small small;
  const engine::PassReport report = check_pass(small.context, small.pass([&](ops::Context& context, int which) {
    const ops::Tensor same = ops::call(context, kMul, {small.x, small.x});
    return ops::call(context, kAdd, {same}, {{"other", 1.0 + which}});
  }));
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->code, 507011);
  EXPECT_TRUE(report.failure->likely);
  EXPECT_EQ(report.failure->where, "layers.0.mlp, add, launch 1");
  EXPECT_FALSE(report.failure->cause.empty());
}

TEST(CheckPass, AGrowingShapeIsLikely507015) {
  Small small;
  const engine::PassReport report = check_pass(small.context, small.pass([&](ops::Context& context, int which) {
    return ops::call(context, kFull, {}, {{"shape", Dims{3 + which}}, {"value", 1.0}, {"dtype", DType::f32}});
  }));
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->code, 507015);
  EXPECT_TRUE(report.failure->likely);
  EXPECT_EQ(report.failure->where, "layers.0.mlp, full, launch 0");
}

TEST(CheckPass, WhatIsReadOnTheDeviceIsFine) {
  Small small;
  CheckedPass pass = small.pass([&](ops::Context& context, int) {
    ops::call_into(context, kAdd, {small.x}, small.x, {{"other", 1.0}});
    return ops::call(context, kMul, {small.x, small.x});
  });
  pass.reset = [&] { small.fill(small.x, 2); };
  const engine::PassReport report = check_pass(small.context, pass);
  EXPECT_FALSE(report.failure);
  EXPECT_TRUE(report.equal);
  EXPECT_EQ(report.launches, 2);
}

TEST(CheckCapture, ModelsAreCapturable) {
  for (const char* name : {"qwen3-base", "qwen2-window", "llama-smollm2"})
    for (const char* fuse : {"none", "all"}) {
      engine::SessionOptions options = options_for(test_model(name));
      options.fuse = fuse;
      Session session(program(), options);
      const engine::CaptureCheck check = engine::check_capture(session, {});
      EXPECT_TRUE(check.capturable()) << name;
      ASSERT_EQ(check.passes.size(), 3u);
      for (const auto& pass : check.passes) EXPECT_GT(pass.launches, 10);
      EXPECT_TRUE(check.passes[0].equal && check.passes[2].equal);
      EXPECT_EQ(check.passes[0].replay_s.size(), 20u);
      for (const auto& m : check.mitigations) {
        EXPECT_NE(m.state, engine::Mitigation::State::refused) << m.name << ": " << m.reason;
        EXPECT_FALSE(m.reason.empty());
      }
      if (HasFailure()) return;
    }
}

TEST(CheckCapture, NothingIsComparedWhereNothingIsComputed) {
  engine::SessionOptions options = options_for(test_model("qwen3-base"));
  options.device = "null";
  Session session(program(), options);
  const engine::CaptureCheck check = engine::check_capture(session, {});
  EXPECT_TRUE(check.capturable());
  for (const auto& pass : check.passes) EXPECT_FALSE(pass.compared);
}

TEST(CheckCapture, AScalingThatFollowsTheLengthIsRefused) {
  Session session(program(), options_for(test_model("qwen3-dynamic")));
  const engine::CaptureCheck check = engine::check_capture(session, {});
  EXPECT_FALSE(check.capturable());
  const auto& last = check.passes.at(1);
  ASSERT_TRUE(last.failure);
  EXPECT_TRUE((std::set<int>{107030, 107041, 107000}).count(last.failure->code)) << last.failure->code;
  EXPECT_FALSE(last.failure->likely);
  EXPECT_NE(last.failure->where.find("rotary_emb, dynamic scaling beyond 16"), std::string::npos)
      << last.failure->where;
  EXPECT_FALSE(last.failure->name.empty() || last.failure->cause.empty() || last.failure->fix.empty());
  EXPECT_EQ(check.mitigations[1].state, engine::Mitigation::State::refused);
  engine::GenerateRequest request{.prompt = {1, 2, 3}, .max_new_tokens = 20};
  EXPECT_EQ(engine::generate(session, request).tokens.size(), 20u);
}

TEST(CheckCapture, NamesWhatATargetWouldObjectTo) {
  Session session(program(), options_for(test_model("qwen3-window")));
  const engine::CaptureCheck check = engine::check_capture(session, {.target = "910b2"});
  std::set<std::string> rules;
  for (const auto& f : check.findings) {
    rules.insert(f.rule);
    EXPECT_GT(f.calls, 0);
    EXPECT_FALSE(f.certain) << f.rule << ": this decoder does nothing that is known to break";
  }
  EXPECT_TRUE(rules.count("sliding-window mask"));
  EXPECT_TRUE(rules.count("q/k norm"));
  EXPECT_TRUE(rules.count("64-bit indices of an order operator"));
  EXPECT_FALSE(rules.count("growing shape"));
  expect_message("910b2", [&] { engine::check_capture(session, {.target = "910b9"}); });
}

TEST(TargetRules, GrowthAndSortsBreak) {
  Small small;
  const auto traced = [&](std::int64_t length) {
    opgraph::GraphTracer tracer;
    ops::Context context(program().operators, small.session.stream(), {}, &tracer);
    const ops::Tensor ids =
        ops::call(context, kFull, {}, {{"shape", Dims{1, length}}, {"value", 1.0}, {"dtype", DType::i64}});
    ops::call_all(context, ops::OpName("sort"), {ids});
    return tracer.graph();
  };
  std::set<std::string> certain;
  for (const auto& f : engine::target_findings("910b2", traced(4), traced(5)))
    if (f.certain) certain.insert(f.rule);
  EXPECT_EQ(certain, (std::set<std::string>{"64-bit sort", "growing shape"}));
}

TEST(Bisect, EveryStageOfASoundModelPasses) {
  for (const char* fuse : {"none", "all"}) {
    engine::SessionOptions options = options_for(test_model("qwen3-window"));
    options.fuse = fuse;
    options.device_options.threads = 2;
    Session session(program(), options);
    const engine::Bisection found = bisect_capture(session);
    ASSERT_EQ(found.stages.size(), 4u);
    EXPECT_EQ(found.first_failure(), nullptr);
    for (const BisectStage& stage : found.stages) EXPECT_EQ(stage.status, BisectStage::Status::passed) << stage.name;
    EXPECT_LT(found.stages[1].launches, found.stages[2].launches);  // attention < layer < model
    EXPECT_LT(found.stages[2].launches, found.stages[3].launches);
  }
}

struct Expected {
  InjectionKind kind;
  std::set<int> codes;
  const char* stage;
};
const std::vector<Expected>& expected() {
  static const std::vector<Expected> list = {
      {InjectionKind::synchronize, {107027}, "attention"},
      {InjectionKind::pageable_copy, {107030, 107041, 107000}, "attention"},
      {InjectionKind::side_stream, {107025}, "attention"},
      {InjectionKind::growing_shape, {507015}, "attention"},
      {InjectionKind::freed_buffer, {507011}, "attention"},
      {InjectionKind::host_value, {507011}, "model"},  // one position alone does not show it
  };
  return list;
}

TEST(Bisect, FindsWhatWasInjected) {
  Session session(program(), options_for(test_model("qwen3-base")));
  const engine::GenerateRequest request{.prompt = {5, 9, 2}, .max_new_tokens = 6};
  const auto before = engine::generate(session, request).tokens;
  for (const Expected& e : expected()) {
    const Injection injection{e.kind, "attention"};
    const engine::Bisection found = bisect_capture(session, injection);
    const BisectStage* failed = found.first_failure();
    ASSERT_NE(failed, nullptr) << injection.text();
    EXPECT_EQ(failed->name, e.stage) << injection.text();
    const CaptureFailure& f = *failed->failure;
    EXPECT_TRUE(e.codes.count(f.code)) << injection.text() << " " << f.code << " " << f.what;
    EXPECT_NE(f.where.find("layers.0.self_attn"), std::string::npos) << injection.text() << ": " << f.where;
    EXPECT_EQ(f.likely, e.kind == InjectionKind::host_value);
    EXPECT_FALSE(f.name.empty() || f.cause.empty() || f.fix.empty()) << injection.text();
    for (const BisectStage* later = failed + 1; later < found.stages.data() + found.stages.size(); ++later)
      EXPECT_EQ(later->status, BisectStage::Status::not_run);
    EXPECT_EQ(engine::generate(session, request).tokens, before) << "after " << injection.text();
  }
}

TEST(Bisect, PlacesAreStagesOperatorsAndModules) {
  Session session(program(), options_for(test_model("qwen3-base")));
  const auto stage = [&](const char* place) {
    const engine::Bisection found = bisect_capture(session, Injection{InjectionKind::synchronize, place});
    return found.first_failure() ? found.first_failure()->name + " " + found.first_failure()->failure->where : "";
  };
  EXPECT_EQ(stage("embed").substr(0, 10), "embed+norm");
  EXPECT_EQ(stage("rms_norm").substr(0, 10), "embed+norm");
  EXPECT_EQ(stage("softmax").substr(0, 9), "attention");
  EXPECT_EQ(stage("mlp").substr(0, 5), "layer");
  EXPECT_EQ(stage("layers.1.self_attn").substr(0, 5), "model");
  EXPECT_NE(stage("layers.1.self_attn").find("layers.1.self_attn.q_proj"), std::string::npos);
  EXPECT_EQ(stage("head").substr(0, 5), "model");
  for (const char* place : {"softmox", "layers.7", "q_proj_", "layers.0.self"})
    EXPECT_EQ(message_of([&] { stage(place); }).find('\n'), std::string::npos) << place;
  expect_message("did you mean softmax", [&] { stage("softmox"); });
  expect_message("known are", [&] { stage("layers.7"); });
}

TEST(Injection, IsKindAtPlace) {
  EXPECT_EQ(engine::parse_injection("side-stream@layers.1.mlp").text(), "side-stream@layers.1.mlp");
  for (const char* text : {"", "@", "side-stream", "side-stream@", "slide-stream@mlp", "@mlp"}) {
    expect_message("synchronize, pageable-copy, side-stream", [&] { engine::parse_injection(text); });
    EXPECT_EQ(message_of([&] { engine::parse_injection(text); }).find('\n'), std::string::npos);
  }
}

// The codes are the runtime's: the same calls made by hand get the same.
TEST(Injection, OnlyCallsTheRuntime) {
  Small small;
  runtime::Stream& stream = small.session.stream();
  runtime::Device& device = small.session.device();
  const auto side = device.create_stream();
  const auto event = device.create_event();
  std::shared_ptr<runtime::Graph> graph;
  std::unique_ptr<runtime::ExecutableGraph> executable;
  ops::Tensor out;
  // Captures one launch and `act` behind it, then replays.
  const auto code_of = [&](const std::function<void()>& act, const std::vector<runtime::Binding>& required = {},
                           const std::vector<runtime::Binding>& given = {}) {
    try {
      graph = engine::capture_work(stream, runtime::CaptureMode::global, [&] {
        const ops::PathScope scope(small.context, "layers.0.self_attn");
        out = ops::call(small.context, kMul, {small.x, small.x});
        act();
      });
      executable = device.instantiate(graph);
      executable->require(required);
      stream.replay(*executable, given);
    } catch (const Error& e) {
      EXPECT_NE(e.text().where.find("layers.0.self_attn"), std::string::npos) << e.what();
      return e.text().code.value_or(0);
    }
    return 0;
  };
  const ops::Tensor grown = runtime::empty(*side, DType::f32, {5});
  std::byte ordinary[4];
  std::map<InjectionKind, int> by_hand;
  by_hand[InjectionKind::synchronize] = code_of([&] { stream.synchronize(); });
  by_hand[InjectionKind::pageable_copy] = code_of([&] { stream.copy_to_host(ordinary, out.memory(), 0, 4); });
  by_hand[InjectionKind::side_stream] = code_of([&] {
    stream.record(*event);
    side->wait(*event);
    ops::Context beside(program().operators, *side);
    const ops::PathScope scope(beside, "layers.0.self_attn");
    ops::call(beside, kMul, {small.x, small.x});
  });
  by_hand[InjectionKind::freed_buffer] = code_of([&] { small.fill(runtime::empty(*side, DType::f32, {16}), 0); });
  by_hand[InjectionKind::growing_shape] =
      code_of([] {}, {{"layers.0.self_attn", small.x}}, {{"layers.0.self_attn", grown}});
  EXPECT_EQ(code_of([] {}), 0);
  for (const Expected& e : expected()) {
    if (e.kind == InjectionKind::host_value) continue;  // nothing is refused: it shows in outcomes
    const engine::Bisection found = bisect_capture(small.session, Injection{e.kind, "attention"});
    ASSERT_NE(found.first_failure(), nullptr);
    EXPECT_EQ(found.first_failure()->failure->code, by_hand[e.kind]);
  }
}

}  // namespace
}  // namespace tilewright::test
