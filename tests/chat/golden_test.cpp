// Rendering against what jinja2 gave (tools/make_chat_goldens.py).
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/mapped_file.h"
#include "hub/chat/template.h"

namespace tilewright::hub {
namespace {

const std::filesystem::path golden = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "tests/chat/golden";

OrderedJson read(const char* name) { return OrderedJson::parse(read_text_file(golden / name)); }

// A row holds either the output or that Python raised.
void expect_row(const OrderedJson& row, const std::string& source, const OrderedJson& variables) {
  try {
    const std::string text = ChatTemplate::parse(source, "t").render(variables);
    EXPECT_TRUE(row.contains("output")) << "renders where jinja2 raises\n" << row.dump() << "\n" << text;
    EXPECT_EQ(text, row.value("output", text)) << row["template"].dump();
  } catch (const Error& error) {
    EXPECT_TRUE(row.contains("raises")) << row.dump() << "\n" << error.what();
  }
}

TEST(ChatGolden, Snippets) {
  const OrderedJson all = read("snippets.json");
  ASSERT_GT(all["rows"].size(), 2000u);
  for (const auto& row : all["rows"]) expect_row(row, row["template"], all["variables"]);
}

TEST(ChatGolden, WholeTemplates) {
  const OrderedJson all = read("chats.json");
  ASSERT_GT(all["rows"].size(), 400u);
  for (const auto& row : all["rows"]) {
    OrderedJson variables = row["variables"];
    variables["messages"] = all["chats"][row["chat"].get<std::string>()];
    variables["tools"] = row["tools"].get<bool>() ? all["tools"] : OrderedJson(nullptr);
    expect_row(row, read_text_file(golden / "templates" / row["template"].get<std::string>()), variables);
  }
}

}  // namespace
}  // namespace tilewright::hub
