#include "fairlead/input/limits_file.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Per = LimitRule::Per;

Result<std::vector<LimitRule>> read(std::string_view text) {
  Result<ByteSource> source = ByteSource::memory(text, "limits.csv");
  return read_limits(*source);
}

std::string error_of(std::string_view text) {
  const auto rules = read(text);
  return rules ? "" : rules.error().message;
}

TEST(LimitsFile, EachRowIsALimit) {
  const auto rules = read(
      "name,qos,account,user,per,gpus,jobs\n"
      "each,normal+long,,,user,8,\n"
      ",,physics,,,32,5\n"
      "\"a, b\",,,ann,account,,3\n");
  ASSERT_TRUE(rules.has_value()) << rules.error().message;
  const std::vector<LimitRule> expected = {
      {.limit = {"each", 8, 0}, .qos = {"normal", "long"}, .per = Per::kUser},
      {.limit = {"row 2", 32, 5}, .accounts = {"physics"}},
      {.limit = {"a, b", 0, 3}, .users = {"ann"}, .per = Per::kAccount}};
  EXPECT_EQ(*rules, expected);
  const auto again = read(limits_csv(*rules));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(*again, expected);
}

TEST(LimitsFile, ATableWithoutRowsHasNoLimit) {
  const auto rules = read(limits_csv({}));
  ASSERT_TRUE(rules.has_value());
  EXPECT_TRUE(rules->empty());
}

TEST(LimitsFile, ErrorsNameTheFieldAndWhatItMayBe) {
  EXPECT_EQ(error_of("qos,gpu\n"),
            "limits.csv:1: the header lacks the column: gpus or jobs (did you mean gpu?)");
  EXPECT_EQ(error_of("qos,gpus,who\n"),
            "limits.csv:1:10: no such column (there are: name, qos, account, user, per, gpus, "
            "jobs): who");
  EXPECT_EQ(error_of("per,gpus\nnode,8\n"),
            "limits.csv:2:1: per must be user, account or empty: node");
  EXPECT_EQ(error_of("qos,gpus\nnormal,0\n"),
            "limits.csv:2:8: gpus must be a whole number from 1 to 1000000: 0");
  EXPECT_EQ(error_of("qos,gpus,jobs\nnormal,,\n"), "limits.csv:2:8: gpus must be given, or jobs");
}

}  // namespace
}  // namespace fairlead
