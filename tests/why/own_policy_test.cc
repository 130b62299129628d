// A policy outside the registry gets the causes of the same policy in it.

#include "fairlead/policy/kit/queue_policy.h"

#include "why/situation.h"

namespace fairlead {
namespace {

// The registry's `smallest`, as a program of its own would have it.
class SmallestGang : public QueuePolicy {
 public:
  SmallestGang() : QueuePolicy(OnMisfit::kSkip, Placement::kConsolidate) {}
  std::string_view name() const override { return "smallest-gang"; }

 protected:
  OrderKey order(const View& view, JobId job) const override {
    return {.major = view.jobs.gpus[job], .minor = view.jobs.arrival[job].ms, .job = job};
  }
};

TEST(OwnPolicy, HasTheCausesOfABuiltInOne) {
  const Situation situation = {.cluster = "2xV100:4",
                               .jobs = {{.gpus = 3}, {.gpus = 3}, {.gpus = 2, .submit_s = 10}},
                               .policy = "smallest:placement=consolidate"};
  EXPECT_EQ(causes(why(situation, "j2")), "scattered 90s");
  const SmallestGang own;
  ASSERT_NE(own.traits(), nullptr);
  const std::string folder = recorded(situation, std::make_unique<SmallestGang>());
  EXPECT_EQ(causes(why_job(folder, "j2", *own.traits()).value()), "scattered 90s");
}

}  // namespace
}  // namespace fairlead
