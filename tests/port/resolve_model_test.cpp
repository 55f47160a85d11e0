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

TEST(ResolveModel, APublishedIdIsToldWhatToDo) {
  const auto told = [](const std::string& name) {
    return message_of([&] { resolve_model(name, "MODEL"); }).find("pull") != std::string::npos;
  };
  EXPECT_TRUE(told("Qwen/Qwen3-0.6B"));
  EXPECT_TRUE(told("org_1/a.b-c"));
  for (const char* path : {"/Qwen/Qwen3", "./Qwen3", "../a/b", "a/b/c", "name", "a/", "~/model", "a b/c"})
    EXPECT_FALSE(told(path)) << path;
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
