// Bold and red are for terminals, but not with NO_COLOR.

#include "program.h"
#include <fmt/format.h>

#include <cstdlib>

namespace fairlead {
namespace {

class StyleTest : public ProgramTest {
 protected:
  // Returns the output of `fairlead clusters` on a terminal.
  std::string on_a_terminal(std::string_view environment) {
    return fairlead("", fmt::format("exec script -qec '{} {} clusters' /dev/null < /dev/null",
                                    environment, FAIRLEAD_PROGRAM))
        .out;
  }
};

constexpr const char* kEscape = "\x1b[";

TEST_F(StyleTest, NothingIsBoldWhereOutputIsNoTerminal) {
  const Ended ended = fairlead("clusters", "unset NO_COLOR");
  EXPECT_NE(ended.out.find("slides"), std::string::npos);
  EXPECT_EQ(ended.out.find(kEscape), std::string::npos);
}

TEST_F(StyleTest, NoColorIsRespectedOnATerminal) {
  if (std::system("command -v script > /dev/null 2>&1") != 0) GTEST_SKIP() << "no script";
  EXPECT_NE(on_a_terminal("env -u NO_COLOR").find(kEscape), std::string::npos);
  EXPECT_NE(on_a_terminal("env NO_COLOR=").find(kEscape), std::string::npos);
  const std::string plain = on_a_terminal("env NO_COLOR=1");
  EXPECT_NE(plain.find("slides"), std::string::npos);
  EXPECT_EQ(plain.find(kEscape), std::string::npos);
}

}  // namespace
}  // namespace fairlead
