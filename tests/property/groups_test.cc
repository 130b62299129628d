// Groups and quotas of users: the number of names under which a group submits makes no difference,
// and no group gets more GPUs than its quota.

#include "fairlead/base/overloaded.h"
#include "testing/world.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <string>

namespace fairlead {
namespace {

constexpr Duration kEndless = hours(100'000);
constexpr Time kEightHours = {8 * 3'600'000};

// The GPUs that a group's users had together.
class GroupHistory : public RecordSink {
 public:
  void on(const Record& record) override {
    count(record.t);
    std::visit(
        Overloaded{
            [&](const record::User& user) { group_[user.user] = user.group; },
            [&](const record::Arrived& arrived) { user_[arrived.asked.job] = arrived.asked.user; },
            [&](const record::Place& place) { place_job(place); },
            [&](const OneOf<record::Stop, record::Evicted, record::Finished, record::Failed,
                            record::Cancelled> auto& what) { end_run(what.job); },
            [](const auto&) {}},
        record.what);
  }

  double gpu_hours(GroupId group) { return gpu_ms_[group] / 3'600'000; }
  double gpu_hours(UserId user) { return user_gpu_ms_[user] / 3'600'000; }
  std::int64_t most(GroupId group) { return most_[group]; }

 private:
  void count(Time t) {
    for (auto& [group, gpus] : allocated_) {
      gpu_ms_[group] += static_cast<double>(gpus) * static_cast<double>((t - now_).ms);
      // GPUs taken for no time do not count: stops and starts of one decision.
      if (t > now_) most_[group] = std::max(most_[group], gpus);
    }
    for (const auto& [job, gpus] : gpus_) {
      user_gpu_ms_[user_[job]] += static_cast<double>(gpus) * static_cast<double>((t - now_).ms);
    }
    now_ = t;
  }
  void place_job(const record::Place& place) {
    gpus_[place.job] = gpus_of(place.gang);
    allocated_[group_[user_[place.job]]] += gpus_[place.job];
  }
  void end_run(JobId job) {
    allocated_[group_[user_[job]]] -= gpus_[job];
    gpus_[job] = 0;
  }

  Time now_;
  std::map<UserId, GroupId> group_;
  std::map<JobId, UserId> user_;
  std::map<JobId, std::int64_t> gpus_;
  std::map<GroupId, std::int64_t> allocated_;
  std::map<GroupId, std::int64_t> most_;
  std::map<GroupId, double> gpu_ms_;
  std::map<UserId, double> user_gpu_ms_;
};

constexpr GroupId kNone;
constexpr GroupId kLab(0);

// The policies that know quotas.
constexpr std::string_view kPolicies[] = {"gandiva-fair", "fairlead"};

GroupHistory history_of(const World& world, std::string_view policy) {
  GroupHistory history;
  const Outcome outcome = run(world, policy_named(policy), {}, &history);
  EXPECT_EQ(outcome.problems, std::vector<std::string>{});
  return history;
}

// One person's endless jobs under so many names, beside three users of 16 such jobs each, on 16 GPUs.
World world_of(std::int64_t names, std::int64_t jobs, bool in_group, std::int64_t quota = 0) {
  World world{.cluster = "4xV100:4", .until = kEightHours};
  for (std::int64_t job = 0; job < jobs; ++job) {
    world.jobs.push_back({.work = kEndless, .user = fmt::format("name-{}", job % names)});
    if (!in_group) continue;
    world.jobs.back().group = "lab";
    world.jobs.back().group_quota = quota;
  }
  for (int user = 0; user < 3; ++user) {
    for (int job = 0; job < 16; ++job) {
      world.jobs.push_back({.work = kEndless, .user = fmt::format("user-{}", user)});
    }
  }
  return world;
}

TEST(Groups, OnePersonUnderFourNamesHasOneShare) {
  for (const char* policy : {"gandiva-fair", "gang-stride", "fairlead"}) {
    // 16 GPUs for 8 hours, a quarter of them.
    EXPECT_NEAR(history_of(world_of(1, 16, true), policy).gpu_hours(kLab), 32, 1) << policy;
    EXPECT_NEAR(history_of(world_of(4, 16, true), policy).gpu_hours(kLab), 32, 1) << policy;
    // Without a group the three others have 3 of 7 shares between them.
    const double others = history_of(world_of(4, 16, false), policy).gpu_hours(kNone);
    EXPECT_NEAR(others, 128, 1) << policy;
  }
}

RC_GTEST_PROP(Groups, HaveAsMuchUnderHoweverManyNames, ()) {
  const auto names = *rc::gen::inRange<std::int64_t>(2, 9);
  const auto jobs = *rc::gen::inRange<std::int64_t>(9, 30);
  const auto policy = *rc::gen::elementOf(std::vector(std::begin(kPolicies), std::end(kPolicies)));
  const double one = history_of(world_of(1, jobs, true), policy).gpu_hours(kLab);
  const double many = history_of(world_of(names, jobs, true), policy).gpu_hours(kLab);
  RC_ASSERT(std::abs(many / one - 1) < 0.03);
}

RC_GTEST_PROP(Groups, NeverHaveMoreThanTheirQuota, ()) {
  const auto names = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto quota = *rc::gen::inRange<std::int64_t>(1, 9);
  World world = world_of(names, 20, true, quota);
  if (*rc::gen::arbitrary<bool>())
    std::erase_if(world.jobs, [](auto& job) { return job.group.empty(); });
  for (WorldJob& job : world.jobs) {
    job.work = seconds(60 * *rc::gen::inRange<std::int64_t>(1, 300));
    job.gpus = *rc::gen::inRange<std::uint32_t>(1, 4);
    job.submit = {*rc::gen::inRange<std::int64_t>(0, 3'600'000)};
  }
  for (std::string_view policy : kPolicies) {
    RC_ASSERT(history_of(world, policy).most(kLab) <= quota);
  }
}

TEST(Groups, HaveTheirQuotaWhileOthersWaitAndTheRest) {
  for (std::string_view policy : kPolicies) {
    GroupHistory history = history_of(world_of(2, 16, true, 3), policy);
    EXPECT_NEAR(history.gpu_hours(kLab), 3 * 8, 0.5) << policy;
    EXPECT_NEAR(history.gpu_hours(kNone), 13 * 8, 0.5) << policy;
  }
}

// Ann's jobs come first and would fill the quota for ever.
TEST(Groups, ShareTheirQuotaAmongTheirUsers) {
  for (std::uint32_t gang_of_ben : {1U, 2U, 4U}) {
    World world{.cluster = "4xV100:4", .until = kEightHours};
    for (int job = 0; job < 8; ++job) {
      world.jobs.push_back({.work = kEndless, .user = "ann", .group = "lab", .group_quota = 4});
    }
    for (int job = 0; job < 8; ++job) {
      world.jobs.push_back({.submit = {60'000},
                            .gpus = gang_of_ben,
                            .work = kEndless,
                            .user = "ben",
                            .group = "lab"});
    }
    for (std::string_view policy : kPolicies) {
      GroupHistory history = history_of(world, policy);
      EXPECT_LE(history.most(kLab), 4);
      // The quota for 8 hours, 32 GPU-hours, in halves.
      EXPECT_NEAR(history.gpu_hours(UserId(0)), 16, 2) << policy << ' ' << gang_of_ben;
      EXPECT_NEAR(history.gpu_hours(UserId(1)), 16, 2) << policy << ' ' << gang_of_ben;
    }
  }
}

}  // namespace
}  // namespace fairlead
