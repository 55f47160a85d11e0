// Ctrl-C at any step: the directory is as it was, or wholly patched if it came too late; nothing lies about.
#include "hub/fetch/http_client.h"
#include "hub/patch/overlay_swap.h"
#include "hub_patch/model_fixture.h"

namespace tilewright::hub::test {
namespace {

namespace fs = std::filesystem;

using Tree = std::map<std::string, std::string>;

// Runs `action` with an interrupt at its step-th step. Whether there was such a step.
template <typename Action>
bool stopped_at(int step, const Action& action) {
  std::atomic<bool> interrupted{false};
  int left = step;
  const StepHook stop = stop_when(interrupted);
  try {
    action([&](const std::string& name) {
      if (--left < 0) interrupted = true;
      stop(name);
    });
  } catch (const Interrupted&) {
  }
  return left < 0;
}

PatchRequest request_of(const TemporaryModel& t) {
  t.write("src/x.py", std::string(600'000, 'x'));  // several parts
  return {.model = t.model(),
          .auto_map = {{"AutoConfig", "pkg.x.X"}},
          .copy = {{"pkg/x.py", "x.py"}, {"tokenizer.json", "x.py"}},
          .source_root = t.root() / "src"};
}

TEST(PatchStopped, InPlaceAllOrNothing) {
  TemporaryModel t;
  t.publish();
  const PatchRequest request = request_of(t);
  const auto patch = [&](const StepHook& hook) { patch_model(request, three_families(), "1", t.environment(), hook); };
  const Tree before = tree(t.model());
  patch({});
  const Tree patched = tree(t.model(), false);
  unpatch_model(t.model());
  ASSERT_EQ(tree(t.model()), before);
  int step = 0, taken_back = 0;
  for (; stopped_at(step, patch); ++step) {
    if (tree(t.model(), false) == patched) {
      unpatch_model(t.model());
    } else {
      ++taken_back;
    }
    ASSERT_EQ(tree(t.model()), before) << "step " << step;
    ASSERT_LT(step, 300);
  }
  EXPECT_GT(taken_back, 20);
}

TEST(PatchStopped, OverlaysAllOrNothing) {
  for (const bool old_one : {false, true}) {
    TemporaryModel t;
    t.publish();
    PatchRequest request = request_of(t);
    request.output_dir = t.root() / "deep/er/overlay";
    request.force = true;
    const auto patch = [&](const StepHook& hook) {
      patch_model(request, three_families(), "1", t.environment(), hook);
    };
    const auto begin = [&] {
      fs::remove_all(t.root() / "deep");
      if (old_one) t.write("deep/er/overlay/config.json", "{\"old\": 1}");
    };
    begin();
    patch({});
    const Tree built = tree(t.root(), false);
    begin();
    const Tree before = tree(t.root(), false);
    int step = 0, taken_back = 0;
    for (; stopped_at(step, patch); ++step, begin()) {
      const Tree now = tree(t.root(), false);
      ASSERT_TRUE(now == built || now == before) << "step " << step;
      taken_back += now == before;
      ASSERT_LT(step, 300);
    }
    EXPECT_GT(taken_back, 10);
  }
}

TEST(PatchStopped, BetweenTwoRenamesTheOldOverlayGoesBack) {
  TemporaryModel t;
  t.write("overlay/old.txt", "old");
  const Tree before = tree(t.root(), false);
  EXPECT_TRUE(stopped_at(0, [&](const StepHook& hook) {
    const StepHook only_there = [&](const std::string& step) {
      if (step == "put the overlay into the empty place") hook(step);
    };
    Workshop workshop(t.root() / "overlay", only_there);
    std::ofstream(workshop.folder() / "new.txt") << "new";
    workshop.put_in_place(true, false);
  }));
  EXPECT_EQ(tree(t.root(), false), before);
}

}  // namespace
}  // namespace tilewright::hub::test
