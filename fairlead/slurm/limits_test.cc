#include "fairlead/slurm/limits.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Per = LimitRule::Per;
using Rules = std::vector<LimitRule>;

Result<SlurmLimits> read(std::string_view qos, std::string_view associations) {
  Result<ByteSource> of_qos = ByteSource::memory(qos, "qos.txt");
  Result<ByteSource> of_associations = ByteSource::memory(associations, "assoc.txt");
  return read_slurm_limits(qos.empty() ? nullptr : &*of_qos,
                           associations.empty() ? nullptr : &*of_associations);
}

Rules rules_of(std::string_view qos, std::string_view associations = "") {
  const auto limits = read(qos, associations);
  EXPECT_TRUE(limits.has_value()) << limits.error().message;
  return limits ? limits->rules : Rules();
}

std::string error_of(std::string_view qos, std::string_view associations = "") {
  const auto limits = read(qos, associations);
  return limits ? "no error" : limits.error().message;
}

TEST(SlurmLimits, EachAmountOfAQosIsALimit) {
  const Rules expected = {
      {.limit = {"GrpTRES of QOS normal", 32, 0}, .qos = {"normal"}},
      {.limit = {"GrpJobs of QOS normal", 0, 20}, .qos = {"normal"}},
      {.limit = {"MaxTRESPerUser of QOS normal", 8, 0}, .qos = {"normal"}, .per = Per::kUser},
      {.limit = {"MaxJobsPerUser of QOS normal", 0, 4}, .qos = {"normal"}, .per = Per::kUser},
      {.limit = {"MaxTRESPerAccount of QOS normal", 16, 0},
       .qos = {"normal"},
       .per = Per::kAccount}};
  EXPECT_EQ(rules_of("Name|Priority|GrpTRES|GrpJobs|MaxTRES|MaxTRESPU|MaxJobsPU|MaxTRESPA|MinTRES\n"
                     "normal|0|cpu=512,gres/gpu=32|20|gres/gpu=4|gres/gpu=8,mem=1T|4|gres/gpu=16|\n"
                     "long|0||||cpu=64|||\n"),
            expected);
}

TEST(SlurmLimits, ColumnsMayHaveTheirLongNamesAndABarAtTheEnd) {
  const Rules expected = {
      {.limit = {"MaxTRESPerUser of QOS a", 8, 0}, .qos = {"a"}, .per = Per::kUser}};
  EXPECT_EQ(rules_of("QOS|MaxTRESPerUser|MaxJobsPerUser|\na|gres/gpu=8||\n"), expected);
}

TEST(SlurmLimits, LimitsOfOneTypeAndOfNothingAreNamed) {
  const auto limits = read("Name|GrpTRES\na|gres/gpu:h100=4\nb|gres/gpu=0\nc|gres/gpu=-1\n", "");
  ASSERT_TRUE(limits.has_value());
  EXPECT_TRUE(limits->rules.empty());
  EXPECT_EQ(limits->said, (std::vector<std::string>{
                              "left out: 1 limit on GPUs of one type (sacctmgr show qos -P)",
                              "left out: 1 limit of 0 (sacctmgr show qos -P)"}));
}

TEST(SlurmLimits, AnAccountHasTheJobsOfTheAccountsBelowIt) {
  const Rules expected = {
      {.limit = {"GrpTRES of account root", 64, 0}},
      {.limit = {"GrpTRES of account science", 32, 0},
       .accounts = {"science", "physics", "lasers"}},
      {.limit = {"GrpTRES of user ann in lasers", 4, 0}, .accounts = {"lasers"}, .users = {"ann"}}};
  EXPECT_EQ(rules_of("",
                     "Cluster|Account|Par Name|User|Partition|GrpTRES|GrpJobs|MaxJobs\n"
                     "c|root||||gres/gpu=64||\n"
                     "c|root||root||||\n"
                     "c|science|root|||gres/gpu=32||\n"
                     "c|lasers|physics|||||\n"
                     "c|physics|science|||||\n"
                     "c|lasers||ann||gres/gpu=4||\n"),
            expected);
}

TEST(SlurmLimits, MaxJobsOfAUserGivesWayToTheQos) {
  constexpr std::string_view kAssociations = "Account|User|GrpTRES|MaxJobs\nlab|ann||5\n";
  EXPECT_TRUE(rules_of("Name|GrpTRES\na|\n", kAssociations).front().qos.empty());
  const Rules rules = rules_of("Name|GrpTRES|MaxJobsPU\na||3\nb||\n", kAssociations);
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[1], (LimitRule{.limit = {"MaxJobs of user ann in lab", 0, 5},
                                 .qos = {"b"},
                                 .accounts = {"lab"},
                                 .users = {"ann"}}));
  EXPECT_EQ(rules_of("Name|GrpTRES|MaxJobsPU\na||3\n", kAssociations).size(), 1U);
}

TEST(SlurmLimits, AssociationsWithAPartitionAreNamed) {
  const auto limits = read("", "Account|User|Partition|GrpTRES|MaxJobs\nlab|ann|gpu|gres/gpu=5|\n");
  ASSERT_TRUE(limits.has_value());
  EXPECT_TRUE(limits->rules.empty());
  EXPECT_EQ(limits->said,
            std::vector<std::string>{"left out: limits of 1 association with a partition"});
}

TEST(SlurmLimits, ErrorsNameThePlaceAndTheRemedy) {
  EXPECT_EQ(error_of("Name|Priority\nnormal|0\n"),
            "qos.txt:1: the header lacks the column: GrpTRES or MaxTRESPU or MaxTRESPerUser; ask "
            "with `sacctmgr show qos -P`");
  EXPECT_EQ(error_of("Name|GrpTRES\nnormal|gres/gpu=many\n"),
            "qos.txt:2:8: GrpTRES must be a list such as gres/gpu=8: gres/gpu=many");
  EXPECT_EQ(error_of("Name|GrpTRES|GrpJobs\nnormal||few\n"),
            "qos.txt:2:9: GrpJobs must be a number of jobs: few");
  EXPECT_EQ(error_of("", "Cluster|Account|User|GrpTRES\nx|a||\ny|a||\n"),
            "assoc.txt:3:1: Cluster must be one: ask sacctmgr with cluster=NAME: y");
}

}  // namespace
}  // namespace fairlead
