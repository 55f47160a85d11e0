// What verify says of a program.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "tile/ir/printer.h"
#include "tile/verify/verify.h"

namespace tilewright::tile {

// Empty if the program is accepted. Every refusal names the program and proposes a mend.
inline std::string refusal(const Program& program) {
  try {
    verify(program);
  } catch (const Error& error) {
    EXPECT_FALSE(error.text().fix.empty()) << error.what();
    EXPECT_NE(error.text().where.find("tile program"), std::string::npos) << error.what();
    return error.what();
  }
  return {};
}

inline void expect_refused(const Program& program, const std::string& says, const std::string& node) {
  const std::string message = refusal(program);
  EXPECT_NE(message, "") << "accepted:\n" << print(program);
  EXPECT_NE(message.find(says), std::string::npos) << message << "\n" << print(program);
  EXPECT_NE(message.find(node), std::string::npos) << message << "\n" << print(program);
}

inline void expect_accepted(const Program& program) { EXPECT_EQ(refusal(program), "") << print(program); }

}  // namespace tilewright::tile
