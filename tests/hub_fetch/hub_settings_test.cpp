// Environment variables, with the meaning they have for huggingface_hub.
#include "hub/fetch/hub_settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "base/error.h"

namespace tilewright::hub {
namespace {

Environment with(std::map<std::string, std::string> values) {
  values.emplace("HOME", "/nowhere/home");
  return [values](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

std::string settings_error(std::map<std::string, std::string> values) {
  try {
    hub_settings(with(std::move(values)));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class TokenFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tilewright_token_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::filesystem::path folder_;
};

TEST(HubSettings, Defaults) {
  const HubSettings settings = hub_settings(with({}));
  EXPECT_EQ(settings.endpoint, "https://huggingface.co");
  EXPECT_EQ(settings.token, "");
  EXPECT_EQ(settings.home, "/nowhere/home/.cache/huggingface");
  EXPECT_EQ(settings.cache, "/nowhere/home/.cache/huggingface/hub");
  EXPECT_EQ(modules_cache(with({})), "/nowhere/home/.cache/huggingface/modules");
  EXPECT_FALSE(settings.offline);
  EXPECT_TRUE(settings.links && settings.progress);
  EXPECT_EQ(settings.listing_timeout, std::chrono::seconds(10));
  EXPECT_EQ(settings.download_timeout, std::chrono::seconds(10));
}

TEST(HubSettings, Folders) {
  EXPECT_EQ(hub_settings(with({{"XDG_CACHE_HOME", "/x"}})).cache, "/x/huggingface/hub");
  EXPECT_EQ(hub_settings(with({{"XDG_CACHE_HOME", "/x"}, {"HF_HOME", "~/hf"}})).cache, "/nowhere/home/hf/hub");
  EXPECT_EQ(hub_settings(with({{"HF_HOME", "/h"}, {"HF_HUB_CACHE", "$HF_HOME/${X}c$UNSET"}, {"X", "my"}})).cache,
            "/h/myc$UNSET");
  EXPECT_EQ(hub_settings(with({{"HUGGINGFACE_HUB_CACHE", "/old"}})).cache, "/old");
  EXPECT_EQ(hub_settings(with({{"HUGGINGFACE_HUB_CACHE", "/old"}, {"HF_HUB_CACHE", "/new"}})).cache, "/new");
  EXPECT_EQ(modules_cache(with({{"HF_HOME", "/h"}})), "/h/modules");
  EXPECT_EQ(modules_cache(with({{"HF_HOME", "/h"}, {"HF_MODULES_CACHE", "/m"}})), "/m");
}

TEST(HubSettings, Switches) {
  for (const char* yes : {"1", "on", "ON", "Yes", "true"})
    EXPECT_TRUE(hub_settings(with({{"HF_HUB_OFFLINE", yes}})).offline);
  for (const char* no : {"0", "", "off", "2", "no"}) EXPECT_FALSE(hub_settings(with({{"HF_HUB_OFFLINE", no}})).offline);
  EXPECT_TRUE(hub_settings(with({{"TRANSFORMERS_OFFLINE", "1"}})).offline);
  EXPECT_TRUE(hub_settings(with({{"HF_HUB_OFFLINE", ""}, {"TRANSFORMERS_OFFLINE", "1"}})).offline);
  EXPECT_FALSE(hub_settings(with({{"HF_HUB_OFFLINE", "0"}, {"TRANSFORMERS_OFFLINE", "1"}})).offline);
  EXPECT_FALSE(hub_settings(with({{"HF_HUB_DISABLE_SYMLINKS", "1"}})).links);
  EXPECT_FALSE(hub_settings(with({{"HF_HUB_DISABLE_PROGRESS_BARS", "1"}})).progress);
}

TEST(HubSettings, Timeouts) {
  using std::chrono::milliseconds;
  EXPECT_EQ(hub_settings(with({{"HF_HUB_ETAG_TIMEOUT", "30"}})).listing_timeout, milliseconds(30000));
  EXPECT_EQ(hub_settings(with({{"HF_HUB_DOWNLOAD_TIMEOUT", "0.25"}})).download_timeout, milliseconds(250));
  EXPECT_EQ(hub_settings(with({{"HF_HUB_DOWNLOAD_TIMEOUT", "0"}})).download_timeout, milliseconds(10000));
  for (const char* bad : {"ten", "-1", "1e99", "nan", "5s", " 5"}) {
    EXPECT_NE(settings_error({{"HF_HUB_ETAG_TIMEOUT", bad}}).find("HF_HUB_ETAG_TIMEOUT"), std::string::npos) << bad;
    EXPECT_NE(settings_error({{"HF_HUB_DOWNLOAD_TIMEOUT", bad}}).find("HF_HUB_DOWNLOAD_TIMEOUT"), std::string::npos)
        << bad;
  }
}

TEST(HubSettings, Endpoints) {
  const auto endpoint = [](const char* text) { return hub_settings(with({{"HF_ENDPOINT", text}})).endpoint; };
  EXPECT_EQ(endpoint("https://hub.example/"), "https://hub.example");
  EXPECT_EQ(endpoint("http://hub.example:8080/hf//"), "http://hub.example:8080/hf");
  EXPECT_EQ(endpoint(""), "https://huggingface.co");
  for (const char* bad :
       {"hub.example", "ftp://hub.example", "https://", "https://hub.example?x=1", "/", "https://a b"})
    EXPECT_NE(settings_error({{"HF_ENDPOINT", bad}}).find("HF_ENDPOINT"), std::string::npos) << bad;
}

TEST(HubSettings, LoginOfTheEndpointIsTakenOutOfIt) {
  const HubSettings settings = hub_settings(with({{"HF_ENDPOINT", "https://me:s%40cret@hub.example/hf/"}}));
  EXPECT_EQ(settings.endpoint, "https://hub.example/hf");
  EXPECT_EQ(settings.login, "me:s@cret");
  for (const char* bad : {"ftp://me:secret@hub.example", "me:secret@hub.example", "https://me:secret%0a@hub.example",
                          "https://me:secret@hub.example?secret", "https://me:secret@"}) {
    const std::string error = settings_error({{"HF_ENDPOINT", bad}});
    EXPECT_NE(error.find("HF_ENDPOINT"), std::string::npos);
    EXPECT_EQ(error.find("secret"), std::string::npos) << error;
  }
}

TEST_F(TokenFile, WhichTokenCounts) {
  const std::string home = folder_.string(), other = write("other", "hf_other\n");
  write("token", "  hf_stored\r\n\n");
  EXPECT_EQ(hub_settings(with({{"HF_HOME", home}})).token, "hf_stored");
  EXPECT_EQ(hub_settings(with({{"HF_HOME", home}, {"HF_TOKEN_PATH", other}})).token, "hf_other");
  EXPECT_EQ(hub_settings(with({{"HF_HOME", home}, {"HF_TOKEN_PATH", other}, {"HF_TOKEN", " hf_named\r\n"}})).token,
            "hf_named");
  EXPECT_EQ(hub_settings(with({{"HF_HOME", home}, {"HUGGING_FACE_HUB_TOKEN", "hf_old"}})).token, "hf_old");
  EXPECT_EQ(hub_settings(with({{"HF_HOME", home}, {"HF_TOKEN", ""}})).token, "hf_stored");
  EXPECT_EQ(hub_settings(with({{"HF_HOME", home}, {"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"}})).token, "");
  EXPECT_EQ(hub_settings(with({{"HF_HOME", home + "/none"}})).token, "");
}

TEST_F(TokenFile, IsNotLookedAtWhereNoneIsNeeded) {
  const std::string home = folder_.string();
  write("token", "no token");
  EXPECT_THROW(hub_settings(with({{"HF_HOME", home}})), Error);
  EXPECT_EQ(hub_settings(with({{"HF_HOME", home}}), "hf_named").token, "hf_named");
  EXPECT_EQ(hub_settings(with({{"HF_HOME", home}}), "").token, "");
  EXPECT_EQ(hub_settings(with({{"HF_HOME", home}, {"HF_HUB_OFFLINE", "1"}})).token, "");
}

TEST_F(TokenFile, TokensThatNoHeaderMayHoldAreRefusedUnseen) {
  for (const std::string bad : {"hf_secret\r\nX-Evil: 1", "hf_secret two", "hf_secret\x01", "hf_secret\xc3\xbc"}) {
    std::string error = settings_error({{"HF_TOKEN", bad}});
    EXPECT_NE(error.find("HF_TOKEN"), std::string::npos) << error;
    EXPECT_EQ(error.find("secret"), std::string::npos) << error;
    write("token", bad);
    error = settings_error({{"HF_HOME", folder_.string()}});
    EXPECT_NE(error.find((folder_ / "token").string()), std::string::npos) << error;
    EXPECT_EQ(error.find("secret"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace tilewright::hub
