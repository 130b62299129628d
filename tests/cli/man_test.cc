// `fairlead man`: manual pages with the text of --help.

#include "program.h"
#include <fmt/format.h>

#include <cstdlib>

namespace fairlead {
namespace {

class ManTest : public ProgramTest {
 protected:
  // The page as a reader sees it, by groff; its warnings are `errors`.
  Ended read_page(const std::string& file) {
    return fairlead("", fmt::format("exec groff -ww -man -Tutf8 -P-cbou -rLL=78n {}", file));
  }
};

TEST_F(ManTest, PrintsThePageOfTheProgramOfACommandAndOfOneBelow) {
  for (const auto& [words, title] : {std::pair("", "FAIRLEAD"),
                                     {"simulate", "FAIRLEAD\\-SIMULATE"},
                                     {"trace convert", "FAIRLEAD\\-TRACE\\-CONVERT"}}) {
    const Ended page = fairlead(fmt::format("man {}", words));
    EXPECT_EQ(page.exit_code, 0) << page.errors;
    EXPECT_TRUE(page.out.starts_with(fmt::format(".TH \"{}\" 1 ", title))) << page.out;
  }
}

TEST_F(ManTest, RefusesAPageOfNoCommandByName) {
  const Ended page = fairlead("man trace simulate");
  EXPECT_EQ(page.exit_code, 2);
  EXPECT_EQ(page.errors, "fairlead: no such command (fairlead --help): trace simulate\n");
}

TEST_F(ManTest, WritesAPageForEveryCommandThatIsCorrectRoff) {
  ASSERT_EQ(fairlead("man --out pages").exit_code, 0);
  const std::vector<std::string> pages = files("pages");
  EXPECT_GT(pages.size(), 30u);
  for (const char* page : {"fairlead.1", "fairlead-compare.1", "fairlead-users-set.1"})
    EXPECT_NE(read(fmt::format("pages/{}", page)), "") << page;
  if (std::system("command -v groff > /dev/null 2>&1") != 0) GTEST_SKIP() << "no groff";
  for (const std::string& page : pages) {
    const Ended shown = read_page("pages/" + page);
    EXPECT_EQ(shown.exit_code, 0) << page;
    EXPECT_EQ(shown.errors, "") << page;
  }
}

TEST_F(ManTest, ShowsFlagsAndExamplesAsTheyAreTyped) {
  if (std::system("command -v groff > /dev/null 2>&1") != 0) GTEST_SKIP() << "no groff";
  write("page.1", fairlead("man compare").out);
  const std::string page = read_page("page.1").out;
  for (const char* text : {"--policies \"A;B:OPT=V;...\"", "--export slurm|kubernetes",
                           "load=0.5..1.5/5 --out out", "(required)", "fairlead(1)"})
    EXPECT_NE(page.find(text), std::string::npos) << text << "\n" << page;
}

}  // namespace
}  // namespace fairlead
