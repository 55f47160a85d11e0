// Pulling over a directory that was patched keeps the patched files, and taking the patch back gives the publisher's.
#include <gtest/gtest.h>

#include "base/error.h"
#include "hub/patch/patch.h"
#include "hub_fetch/pull_fixture.h"

namespace tilewright::test {
namespace {

namespace fs = std::filesystem;
using Status = hub::PulledFile::Status;

class PatchedPullTest : public PullFixture, public ::testing::WithParamInterface<bool> {
 public:
  PatchedPullTest() : request{.id = "org/model", .output_dir = GetParam() ? root / "model" : fs::path()} {
    repository.files[0].bytes = R"({"model_type": "qwen3", "auto_map": {"AutoModel": "o/r--x.X"}, "hidden_size": 8})";
  }

  void patch(const fs::path& model) const {
    const hub::Families families{
        .names = [] { return std::vector<std::string>{"qwen3"}; },
        .find = [](const std::string& name) { return name == "qwen3" ? std::optional(name) : std::nullopt; }};
    const fs::path source = root / "mine.py";
    std::ofstream(source) << "mine\n";
    hub::patch_model({.model = model, .copy = {{"extra/notes.txt", source}, {"new/mine.py", source}}}, families, "1",
                     [&](const std::string& name) {
                       return name == "HF_MODULES_CACHE" ? std::optional((root / "modules").string()) : std::nullopt;
                     });
  }

  HubRepository repository = small_repository();
  hub::PullRequest request;
};
INSTANTIATE_TEST_SUITE_P(Layouts, PatchedPullTest, ::testing::Values(false, true),
                         [](const auto& layout) { return layout.param ? "Directory" : "Cache"; });

TEST_P(PatchedPullTest, KeepsPatchedFilesAndSaysSo) {
  server.serve(repository);
  const fs::path model = pull(request).path;
  patch(model);
  const std::string config = bytes_of_file(model / "config.json");
  EXPECT_EQ(config, R"({"model_type": "qwen3", "hidden_size": 8})");

  for (const bool force : {false, true}) {
    request.force = force;
    told.notes.clear();
    const hub::PullResult again = pull(request);
    EXPECT_EQ(again.path, model);
    for (const hub::PulledFile& pulled : again.files) {
      const bool patched = pulled.file.path == "config.json" || pulled.file.path == "extra/notes.txt";
      EXPECT_EQ(pulled.status == Status::patched, patched) << pulled.file.path;
    }
    EXPECT_NE(told.notes.find("config.json"), std::string::npos) << told.notes;
    EXPECT_EQ(bytes_of_file(model / "config.json"), config);
    EXPECT_EQ(bytes_of_file(model / "extra/notes.txt"), "mine\n");
    EXPECT_EQ(bytes_of_file(model / "new/mine.py"), "mine\n");
  }

  hub::HubSettings offline = settings();
  offline.offline = true;
  request.force = false;
  told.notes.clear();
  hub::pull(offline, request, told, options());
  EXPECT_NE(told.notes.find("patched and stay as they are: config.json, extra/notes.txt"), std::string::npos)
      << told.notes;

  hub::unpatch_model(model);
  expect_whole(repository, model);
  EXPECT_FALSE(fs::exists(model / "new"));
  EXPECT_FALSE(fs::exists(model / ".tilewright"));
  server.forget_requests();
  for (const hub::PulledFile& pulled : pull(request).files) EXPECT_EQ(pulled.status, Status::present);
  EXPECT_EQ(body_requests(), 0u);
}

}  // namespace
}  // namespace tilewright::test
