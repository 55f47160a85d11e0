#include "runtime/error_codes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tilewright::runtime {
namespace {

TEST(ErrorCodes, AscendAndSayEverything) {
  int last = 0;
  std::set<std::string> names;
  for (const ErrorCode& row : error_codes()) {
    EXPECT_LT(last, row.code);
    last = row.code;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(std::string(row.name).substr(0, 10), "ACL_ERROR_") << row.code;
    for (const char* text : {row.meaning, row.cause, row.fix}) {
      const std::string phrase = text;
      EXPECT_GE(phrase.size(), 8u) << row.code;
      EXPECT_NE(phrase.back(), '.') << row.code;
    }
    EXPECT_EQ(find_error_code(row.code), &row);
  }
  EXPECT_GE(error_codes().size(), 75u);
  for (const int unknown : {-1, 0, 107004, 107021, 107046, 300000, 507904})
    EXPECT_EQ(find_error_code(unknown), nullptr);
}

// 107022 … 107045, without a gap: what a capture can answer.
TEST(ErrorCodes, HoldEveryCodeOfCaptures) {
  for (int code = 107022; code <= 107045; ++code) EXPECT_NE(find_error_code(code), nullptr) << code;
}

TEST(ErrorCodes, FailuresCarryNameAndFix) {
  try {
    fail_with_code(107027, {.what = "", .where = "here", .expected = "", .found = "", .fix = ""});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text().code, 107027);
    EXPECT_EQ(error.text().name, "ACL_ERROR_RT_STREAM_CAPTURED");
    EXPECT_EQ(error.text().fix, find_error_code(107027)->fix);
    EXPECT_EQ(error.text().what, find_error_code(107027)->meaning);
    EXPECT_NE(std::string(error.what()).find("107027 ACL_ERROR_RT_STREAM_CAPTURED"), std::string::npos);
  }
  try {
    fail_with_code(107027, {.what = "this", .where = "here", .expected = "", .found = "", .fix = "that"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text().what, "this");
    EXPECT_EQ(error.text().fix, "that");
  }
}

}  // namespace
}  // namespace tilewright::runtime
