#include "fairlead/cli/tasks.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using nlohmann::json;

const std::vector<std::string> kCommand = {"python", "train.py", "--lr", "{lr}", "x{bs}y{bs}"};

std::string error_of(const TaskFlags& flags) {
  const auto fields = task_fields(flags, "train.py", kCommand);
  return fields ? "none" : fields.error().message;
}

TEST(TaskFields, WithoutFlagsThereAreNone) {
  EXPECT_EQ(task_fields({}, "train.py", kCommand).value(), json::object());
}

TEST(TaskFields, AnArrayHasATaskForEachIndex) {
  const json fields = task_fields({.array = "1-3,10-20:5%2"}, "train.py", kCommand).value();
  EXPECT_EQ(fields["at_once"], 2);
  ASSERT_EQ(fields["tasks"].size(), 6U);
  EXPECT_EQ(fields["tasks"][0], (json{{"array_index", 1}, {"name", "train.py[1]"}}));
  EXPECT_EQ(fields["tasks"][5], (json{{"array_index", 20}, {"name", "train.py[20]"}}));
}

TEST(TaskFields, ParametersMakeAllCombinations) {
  const TaskFlags flags{.params = {"lr=0.1,0.01", "bs=1,2"}, .at_once = 3};
  const json fields = task_fields(flags, "train.py", kCommand).value();
  EXPECT_EQ(fields["at_once"], 3);
  ASSERT_EQ(fields["tasks"].size(), 4U);
  EXPECT_EQ(fields["tasks"][1]["name"], "train.py[lr=0.1,bs=2]");
  EXPECT_EQ(fields["tasks"][2]["command"], (json{"python", "train.py", "--lr", "0.01", "x1y1"}));
}

TEST(TaskFields, AnIndexAndParametersAreCombined) {
  const json fields = task_fields({.array = "7,8", .params = {"lr=1,{lr}"}}, "a", kCommand).value();
  ASSERT_EQ(fields["tasks"].size(), 4U);
  EXPECT_EQ(fields["tasks"][3]["name"], "a[8,lr={lr}]");
  EXPECT_EQ(fields["tasks"][3]["command"][3], "{lr}");
}

TEST(TaskFields, ALongNameHasTheNumberOfItsTask) {
  const std::string value(190, 'v');
  const json fields =
      task_fields({.params = {"lr=1," + value}}, "a-name-of-a-job", kCommand).value();
  EXPECT_EQ(fields["tasks"][1]["name"], "a-name-of-a-job[2]");
}

TEST(TaskFields, WrongFlagsAreRefused) {
  EXPECT_EQ(error_of({.array = "1-1000"}), "none");
  EXPECT_EQ(error_of({.array = "1-1001"}), "at most 1000 tasks can be submitted at once");
  EXPECT_EQ(error_of({.array = "1-400", .params = {"lr=1,2,3"}}),
            "at most 1000 tasks can be submitted at once");
  for (const char* array : {"3-1", "a", "1-", "1-5:0", "-1", "1,,2", "%4"}) {
    EXPECT_NE(error_of({.array = array}).find("--array is like 1-20"), std::string::npos) << array;
  }
  EXPECT_EQ(error_of({.array = "1-5%0"}), "--array: a number from 1 follows %: 1-5%0");
  EXPECT_EQ(error_of({.params = {"lr"}}), "--param is like lr=0.1,0.01: lr");
  EXPECT_EQ(error_of({.params = {"rate=1"}}), "--param: no word of the command has {rate}: rate=1");
  EXPECT_EQ(error_of({.at_once = 2}), "--at-once needs --array or --param");
}

}  // namespace
}  // namespace fairlead
