// All tiny worlds of three jobs, for every policy, under the audit: a policy that loses a job or
// splits a gang has no smaller place to hide.

#include "testing/world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Every set of three jobs over these values.
constexpr std::int64_t kSubmits_s[] = {0, 1};
constexpr std::uint32_t kGpus[] = {1, 2, 3};
constexpr std::int64_t kWorks_s[] = {1, 3};
constexpr std::size_t kJobKinds = std::size(kSubmits_s) * std::size(kGpus) * std::size(kWorks_s);

WorldJob job_of_kind(std::size_t kind) {
  WorldJob job;
  job.submit = {kSubmits_s[kind % 2] * 1000};
  job.gpus = kGpus[kind / 2 % 3];
  job.work = seconds(kWorks_s[kind / 6]);
  return job;
}

class SmallWorlds : public testing::TestWithParam<std::string> {};

TEST_P(SmallWorlds, EveryPolicyKeepsItsJobsAndItsGpusApart) {
  const MakePolicy make = policy_named(GetParam());
  for (const char* cluster : {"1xV100:1", "1xV100:3", "2xV100:2", "1xV100:2,1xK80:1"}) {
    for (std::size_t first = 0; first < kJobKinds; ++first) {
      for (std::size_t second = first; second < kJobKinds; ++second) {
        for (std::size_t third = second; third < kJobKinds; ++third) {
          World world{.cluster = cluster};
          world.jobs = {job_of_kind(first), job_of_kind(second), job_of_kind(third)};
          const Outcome outcome = run(world, make);
          ASSERT_EQ(outcome.problems, std::vector<std::string>{})
              << cluster << " " << first << " " << second << " " << third;
          ASSERT_TRUE(outcome.counts.pending == 0 || may_deadlock(GetParam()))
              << cluster << " " << first << " " << second << " " << third;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllPolicies, SmallWorlds, testing::ValuesIn(policy_variants()),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace fairlead
