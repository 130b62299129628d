#include "fairlead/pods/resume_all.h"

#include "fairlead/pods/testing_scheduler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

class ResumeAllTest : public testing::Test {
 protected:
  // Three Jobs, two of which Fairlead suspends, and one that its user suspended.
  void SetUp() override {
    server_.add_node({.name = "n", .gpus = 4});
    for (const char* name : {"a", "b", "c"})
      server_.add_job({.name_space = "lab", .name = name, .gpus = 4});
    server_.add_job({.name_space = "lab", .name = "own", .gpus = 4, .is_suspended = true});
    Scheduler live(server_, "gang-stride:quantum_s=20", "first");
    live.run_for(seconds(100));
  }
  Result<std::vector<std::string>> resume(Duration within) {
    const auto door = server_.open();
    return resume_all(*door, {.name_space = "fairlead", .identity = "hand"}, door->now() + within);
  }
  bool is_suspended(const std::string& job) {
    const FakeAnswer found = server_.act("GET", "/apis/batch/v1/namespaces/lab/jobs/" + job);
    return is_true_at(found.body, {"spec", "suspend"});
  }

  FakeServer server_{1};
};

TEST_F(ResumeAllTest, TheJobsThatFairleadSuspendedRunAndOthersStay) {
  int suspended = 0;
  for (const char* name : {"a", "b", "c"}) suspended += is_suspended(name) ? 1 : 0;
  ASSERT_EQ(suspended, 2);
  server_.fail_next("PATCH", "/jobs/", {.status = 409});
  const auto names = resume(seconds(60));
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_EQ(names->size(), 2U);
  for (const char* name : {"a", "b", "c"}) EXPECT_FALSE(is_suspended(name)) << name;
  EXPECT_TRUE(is_suspended("own"));
}

TEST_F(ResumeAllTest, WhileASchedulerLeadsNothingIsResumed) {
  Scheduler live(server_, "gang-stride:quantum_s=20", "second");
  live.run_for(seconds(30));
  const auto names = resume(seconds(5));
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().message, "second leads; scale its Deployment to 0 first");
}

TEST_F(ResumeAllTest, ALeaseThatIsRenewedEndsTheWaitEarly) {
  Scheduler live(server_, "gang-stride:quantum_s=20", "second");
  live.run_for(seconds(30));
  const Time start = server_.now();
  for (int i = 1; i <= 60; ++i) {
    server_.at(start + seconds(5 * i), [&, i] {
      server_.act("PATCH", "/apis/coordination.k8s.io/v1/namespaces/fairlead/leases/fairlead",
                  {{"spec", {{"renewTime", fmt::format("2026-01-01T01:00:00.{:06}Z", i)}}}});
    });
  }
  EXPECT_FALSE(resume(seconds(300)));
  EXPECT_LE(server_.now(), start + seconds(35));
}

}  // namespace
}  // namespace fairlead
