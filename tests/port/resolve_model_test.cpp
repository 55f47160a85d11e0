#include "port/resolve_model.h"

#include <gtest/gtest.h>

#include "safetensors/scratch.h"

namespace tilewright::port {
namespace {

using hub::message_of;
using hub::Scratch;

TEST(ResolveModel, TakesADirectory) {
  const Scratch scratch;
  EXPECT_EQ(resolve_model(scratch.path().string(), "MODEL"), scratch.path());
}

TEST(ResolveModel, SaysWhereTheNameCameFrom) {
  const Scratch scratch;
  const std::string file = scratch.write("config.json", "{}").string();
  EXPECT_NE(message_of([&] { resolve_model(file, "MODEL_PATH"); }).find("not a directory"), std::string::npos);
  EXPECT_NE(message_of([&] { resolve_model("/nowhere/at/all", "MODEL_PATH"); }).find("MODEL_PATH"), std::string::npos);
}

// Variables of a user whose cache is empty.
hub::Environment empty_home(const Scratch& scratch) {
  return [&scratch](const std::string& name) -> std::optional<std::string> {
    if (name == "HOME") return scratch.path().string();
    return std::nullopt;
  };
}

TEST(ResolveModel, ARepositoryThatIsNotHereIsToldWhatToRun) {
  const Scratch scratch;
  const auto told = [&](const std::string& name) {
    return message_of([&] { resolve_model(name, "MODEL", empty_home(scratch)); });
  };
  EXPECT_NE(told("Qwen/Qwen3-0.6B").find("eval \"$(tilewright pull Qwen/Qwen3-0.6B)\""), std::string::npos);
  EXPECT_NE(told("org_1/a.b-c@v1").find("tilewright pull org_1/a.b-c --revision 'v1'"), std::string::npos);
  for (const char* path : {"/Qwen/Qwen3", "./Qwen3", "../a/b", "a/b/c", "name", "a/", "~/model", "a b/c", "a/b--c"})
    EXPECT_EQ(told(path).find("tilewright pull"), std::string::npos) << path;
  EXPECT_EQ(scratch.entries(), 0u);
}

TEST(ResolveModel, ASnapshotOfTheCacheIsFoundAndADirectoryWins) {
  const Scratch scratch;
  const std::string commit(40, 'c');
  const std::filesystem::path repository = scratch.path() / ".cache/huggingface/hub/models--Org--Name";
  const std::filesystem::path snapshot = repository / "snapshots" / commit;
  std::filesystem::create_directories(snapshot);
  std::filesystem::create_directories(repository / "refs");
  std::ofstream(repository / "refs" / "main") << commit;
  for (const char* name : {"config.json", "tokenizer.json"}) std::ofstream(snapshot / name) << "{}";
  std::ofstream(snapshot / "model.safetensors") << hub::safetensors_bytes("{}", 0);
  const auto found = [&](const std::string& name) { return resolve_model(name, "MODEL", empty_home(scratch)); };
  EXPECT_EQ(found("Org/Name"), snapshot);
  EXPECT_EQ(found("Org/Name@" + commit), snapshot);
  EXPECT_EQ(model_name(found("Org/Name")), "Name");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directories(scratch.path() / "Org" / "Name");
  std::filesystem::current_path(scratch.path());
  EXPECT_EQ(found("Org/Name"), "Org/Name");
  std::filesystem::current_path(before);
}

TEST(ResolveModel, NamesAreThoseOfTheDirectory) {
  EXPECT_EQ(model_name("/models/bard"), "bard");
  EXPECT_EQ(model_name("/models/bard/"), "bard");
  EXPECT_EQ(model_name("/models/x/../bard"), "bard");
  EXPECT_EQ(model_name("/"), "model");
  EXPECT_EQ(model_name("."), std::filesystem::current_path().filename().string());
}

}  // namespace
}  // namespace tilewright::port
