#include "engine/capture/bisect.h"

#include "base/error.h"
#include "engine/capture/check_pass.h"
#include "engine/capture/model_passes.h"
#include "engine/capture/stage.h"
#include "engine/observed.h"
#include "engine/trace_forward.h"
#include "runtime/error_codes.h"

namespace tilewright::engine {
namespace {

using Status = BisectStage::Status;
using Inside = bool (*)(const std::string& path);

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

// Parts of a pass, in the order in which modules are called.
struct Part {
  const char* name;
  const char* scope;
  Inside inside;  // null: all of it
};
constexpr Part kParts[] = {
    {"embed+norm", "embedding, rotary rows, mask, first norm",
     [](const std::string& path) {
       return !starts_with(path, "layers.") || starts_with(path, "layers.0.input_layernorm");
     }},
    {"attention", "layers.0.self_attn",
     [](const std::string& path) { return starts_with(path, "layers.0.self_attn"); }},
    {"layer", "layers.0", [](const std::string& path) { return starts_with(path, "layers.0."); }},
    {"model", "from the embedding to the choice of the next token", nullptr},
};

class Bisect {
 public:
  Bisect(Session& session, const std::optional<Injection>& injection, std::int64_t prompt)
      : context_(session.context()), prompt_(prompt), pass_(decode_pass(session, prompt, prompt + 2)) {
    if (!injection) return;
    injector_.emplace(context_, *injection);
    watching_.add(*injector_);
    pass_.run = [this, plain = pass_.run](ops::Context& context, int which) {
      injector_->start_pass(prompt_ + which);
      return plain(context, which);
    };
    pass_.bindings = [this, plain = pass_.bindings](auto& required, auto& given) {
      plain(required, given);
      injector_->add_bindings(required, given);
    };
  }

  void whole(BisectStage& stage) {
    const Observed observed(context_, &watching_);
    const PassReport report = check_pass(context_, pass_);
    stage.launches = report.launches;
    stage.failure = report.failure;
    stage.status = report.failure ? Status::failed : Status::passed;
  }

  void part(BisectStage& stage, Inside inside) {
    pass_.reset();
    std::vector<std::byte> expected;
    {
      const Observed observed(context_, &watching_);
      expected = run();
    }
    pass_.reset();
    StageCapture capture(context_, inside, [this](auto& required, auto& given) {
      if (injector_) injector_->add_bindings(required, given);
    });
    ops::ObserverList list;
    list.add(capture);
    list.add(watching_);
    try {
      const Observed observed(context_, &list);
      const ops::Tensor out = pass_.run(context_, 0);
      capture.finish();
      stage.launches = capture.launches();
      stage.status = capture.launches() ? Status::passed : Status::absent;
      if (runtime::to_host(context_.stream(), out).bytes != expected)
        stage.failure = likely_failure(runtime::code::kModelExecute,
                                       {.what = "the pass with this part replayed differs from the eager pass",
                                        .where = stage.scope,
                                        .expected = "equal logits",
                                        .found = "others",
                                        .fix = ""});
    } catch (const Error& error) {
      stage.failure = failure_of(error);
    }
    if (stage.failure) stage.status = Status::failed;
  }

 private:
  std::vector<std::byte> run() { return runtime::to_host(context_.stream(), pass_.run(context_, 0)).bytes; }

  ops::Context& context_;
  std::int64_t prompt_;
  CheckedPass pass_;
  std::optional<Injector> injector_;
  ops::ObserverList watching_;
};

}  // namespace

const char* bisect_status_name(Status status) {
  switch (status) {
    case Status::passed:
      return "passed";
    case Status::failed:
      return "failed";
    case Status::absent:
      return "absent";
    case Status::not_run:
      return "not run";
  }
  return "?";
}

const BisectStage* Bisection::first_failure() const {
  for (const BisectStage& stage : stages)
    if (stage.status == Status::failed) return &stage;
  return nullptr;
}

Bisection bisect_capture(Session& session, const std::optional<Injection>& injection, std::int64_t prompt) {
  if (injection) require_place(*injection, trace_forward(session, {.regime = Regime::decode, .tokens = prompt}));
  Bisect bisect(session, injection, prompt);
  Bisection out;
  for (const Part& part : kParts) {
    BisectStage stage{.name = part.name, .scope = part.scope};
    if (!out.first_failure()) {
      if (part.inside)
        bisect.part(stage, part.inside);
      else
        bisect.whole(stage);
    }
    out.stages.push_back(std::move(stage));
  }
  session.stream().synchronize();
  return out;
}

}  // namespace tilewright::engine
