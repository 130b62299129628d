// `fairlead completion`: the completions of shells that have read the script.

#include "program.h"
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace fairlead {
namespace {

using Words = std::vector<std::string>;

bool contains(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

class CompletionTest : public ProgramTest {
 protected:
  // Returns the sorted lines that the shell prints for `question` after it sourced the script.
  Words asked(const std::string& shell, const std::string& question) {
    const Ended script = fairlead("completion " + shell);
    EXPECT_EQ(script.exit_code, 0) << script.errors;
    write("script", script.out);
    write("question", fmt::format("{}\n", question));
    // The shell takes the place of the one that runs the program.
    const Ended answer = fairlead("", "exec " + shell + " ./question");
    EXPECT_EQ(answer.exit_code, 0) << answer.errors;
    EXPECT_EQ(answer.errors, "");
    Words lines;
    std::istringstream text(answer.out);
    for (std::string line; std::getline(text, line);) {
      lines.push_back(line.substr(0, line.find('\t')));
    }
    std::ranges::sort(lines);
    return lines;
  }

  // Returns the offers of bash for the last of the words.
  Words bash(const std::string& words) {
    return asked("bash", fmt::format("source ./script\n"
                                     "COMP_WORDS=({})\n"
                                     "COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n"
                                     "_fairlead\n"
                                     "printf '%s\\n' \"${{COMPREPLY[@]}}\"",
                                     words));
  }

  static bool has(const char* shell) {
    return std::system(fmt::format("command -v {} > /dev/null 2>&1", shell).c_str()) == 0;
  }
};

TEST_F(CompletionTest, BashOffersCommandsFlagsAndChoices) {
  if (!has("bash")) GTEST_SKIP() << "no bash";
  EXPECT_EQ(bash("fairlead re"),
            (Words{"release", "replay", "report", "reproduce", "reservations"}));
  EXPECT_EQ(bash("fairlead trace ''"), (Words{"convert", "generate", "inspect"}));
  EXPECT_EQ(bash("fairlead trace generate --d"), (Words{"--daily-swing", "--duration-scale"}));
  EXPECT_EQ(bash("fairlead simulate --policy gang"), (Words{"gang-stride"}));
  EXPECT_EQ(bash("fairlead simulate --policy = tir"), (Words{"tiresias"}));
  EXPECT_TRUE(contains(bash("fairlead simulate --cluster sli"), "slides"));
  EXPECT_EQ(bash("fairlead trace convert --format pa"), (Words{"pai"}));
  EXPECT_EQ(bash("fairlead compare --set cost"), (Words{"costs="}));
  EXPECT_EQ(bash("fairlead compare --export ''"), (Words{"kubernetes", "slurm"}));
  EXPECT_EQ(bash("fairlead models gpu"), (Words{"gpu-types"}));
  EXPECT_EQ(bash("fairlead policies las"), (Words{"las"}));
  EXPECT_EQ(bash("fairlead completion ''"), (Words{"bash", "fish", "zsh"}));
  EXPECT_EQ(bash("fairlead pri"), (Words{"priority"}));
  EXPECT_EQ(bash("fairlead priority ''"), (Words{"high", "low", "normal", "urgent"}));
}

TEST_F(CompletionTest, BashOffersNoFlagsOfThisProgramBehindTwoDashes) {
  if (!has("bash")) GTEST_SKIP() << "no bash";
  EXPECT_EQ(bash("fairlead run --gpus"), (Words{"--gpus"}));
  EXPECT_EQ(bash("fairlead run -- --gp"), (Words{""}));
}

TEST_F(CompletionTest, BashKnowsEveryFlagThatHelpNames) {
  if (!has("bash")) GTEST_SKIP() << "no bash";
  for (const char* command : {"compare", "serve", "trace generate"}) {
    const Words offered = bash(fmt::format("fairlead {} -", command));
    std::istringstream help(fairlead(fmt::format("{} --help", command)).out);
    std::size_t flags = 0;
    for (std::string line; std::getline(help, line);) {
      const std::size_t dashes = line.find("--");
      if (!line.starts_with("  -") || dashes == std::string::npos) continue;
      const std::string flag = line.substr(dashes, line.find(' ', dashes) - dashes);
      EXPECT_TRUE(contains(offered, flag)) << flag;
      ++flags;
    }
    EXPECT_GT(flags, 3u) << command;
  }
}

TEST_F(CompletionTest, FishOffersTheSame) {
  if (!has("fish")) GTEST_SKIP() << "no fish";
  const auto fish = [&](const std::string& words) {
    return asked("fish", fmt::format("source ./script; complete -C '{}'", words));
  };
  EXPECT_EQ(fish("fairlead trace "), (Words{"convert", "generate", "inspect"}));
  EXPECT_EQ(fish("fairlead simulate --policy gang"), (Words{"gang-stride"}));
  EXPECT_EQ(fish("fairlead trace generate --d"), (Words{"--daily-swing", "--duration-scale"}));
}

// Its completion needs a terminal; the arguments of compadd do not.
TEST_F(CompletionTest, ZshOffersTheSame) {
  if (!has("zsh")) GTEST_SKIP() << "no zsh";
  const auto zsh = [&](const std::string& line) {
    return asked("zsh", fmt::format("compdef() {{ }}\n"
                                    "compadd() {{ while [[ $1 != -- ]]; do shift; done; shift; "
                                    "print -l -- $@ }}\n"
                                    "source ./script\n"
                                    "words=({}) CURRENT=${{#words}}\n"
                                    "_fairlead",
                                    line));
  };
  EXPECT_EQ(zsh("fairlead trace ''"), (Words{"convert", "generate", "inspect"}));
  EXPECT_TRUE(contains(zsh("fairlead simulate --policy ''"), "gang-stride"));
  EXPECT_TRUE(contains(zsh("fairlead simulate -"), "--policy"));
  EXPECT_FALSE(contains(zsh("fairlead simulate -"), "--policies"));
}

TEST_F(CompletionTest, RefusesShellsItDoesNotKnow) {
  const Ended ended = fairlead("completion csh");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.errors.find("{bash,zsh,fish}"), std::string::npos) << ended.errors;
}

}  // namespace
}  // namespace fairlead
