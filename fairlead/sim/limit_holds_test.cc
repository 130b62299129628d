#include "fairlead/sim/limit_holds.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/model/workload.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

struct Asked {
  std::uint32_t gpus = 1;
  std::vector<std::size_t> limits{};
};

// Jobs on a node of 8 GPUs.
class LimitHoldsTest : public ::testing::Test {
 protected:
  void set_up(std::vector<JobLimit> limits, std::vector<Asked> jobs) {
    LimitedJobs limited{.limits = std::move(limits), .of_job = {}};
    IdVector<JobId, std::uint32_t> gpus_of;
    WorkloadBuilder builder("w", Reading::kStrict);
    for (const Asked& job : jobs) {
      const std::string id = std::to_string(gpus_of.size());
      ASSERT_TRUE(builder.add({.id = id, .gpus = job.gpus, .duration = seconds(1)}, "w"));
      limited.of_job.push_back(job.limits);
      gpus_of.push_back(job.gpus);
    }
    workload_ = builder.finish();
    holds_.emplace(cluster_, workload_.jobs, std::move(limited), std::move(gpus_of));
  }
  // Returns the events of an instant in words, beside those given.
  std::string instant(std::vector<Event> events) {
    holds_->add_to(events);
    std::string text;
    for (const Event& event : events)
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : ", ", event_name(event.kind), event.job.row());
    return text;
  }
  static Event arrived(std::size_t job) { return {.kind = EventKind::kArrived, .job = JobId(job)}; }
  std::vector<Slice> gang_of(std::size_t job) const {
    return {{NodeId(0), static_cast<std::uint16_t>(workload_.jobs.gpus[JobId(job)])}};
  }
  void start(std::size_t job) { holds_->begin_run(JobId(job), gang_of(job)); }
  Event finished(std::size_t job) {
    holds_->end_run(gang_of(job));
    holds_->finish(JobId(job));
    return {.kind = EventKind::kFinished, .job = JobId(job)};
  }
  const Cluster cluster_ = load_cluster("1xV100:8").value();
  Workload workload_;
  std::optional<LimitHolds> holds_;
};

TEST_F(LimitHoldsTest, ReleasesByArrivalWhatFits) {
  set_up({{"u", 4, 0}}, {{4, {0}}, {3, {0}}, {2, {0}}, {1, {0}}});
  EXPECT_EQ(instant({arrived(0)}), "arrived 0");
  start(0);
  EXPECT_EQ(instant({arrived(2)}), "arrived 2, held 2");
  EXPECT_EQ(instant({arrived(1), arrived(3)}), "arrived 1, held 1, arrived 3, held 3");
  EXPECT_EQ(instant({finished(0)}), "finished 0, released 2, released 3");
}

TEST_F(LimitHoldsTest, AJobWaitsForTheLastOfItsLimits) {
  set_up({{"u", 2, 0}, {"q", 0, 1}}, {{1, {0}}, {1, {1}}, {2, {0, 1}}, {5, {}}});
  EXPECT_EQ(instant({arrived(0), arrived(1), arrived(2)}),
            "arrived 0, arrived 1, arrived 2, held 2");
  start(0);
  start(1);
  EXPECT_EQ(instant({arrived(3)}), "arrived 3");
  EXPECT_EQ(instant({finished(0)}), "finished 0");
  EXPECT_EQ(instant({finished(1)}), "finished 1, released 2");
}

TEST_F(LimitHoldsTest, AJobThatWaitsForGpusKeepsNoOtherBack) {
  set_up({{"u", 4, 0}}, {{6, {}}, {4, {0}}, {1, {0}}});
  instant({arrived(0), arrived(1)});
  start(0);
  EXPECT_EQ(instant({arrived(2)}), "held 1, arrived 2");
  start(2);
  EXPECT_EQ(instant({finished(0)}), "finished 0");
  EXPECT_EQ(instant({finished(2)}), "finished 2, released 1");
}

TEST_F(LimitHoldsTest, TheChoiceAfterADecisionComesAMillisecondLater) {
  set_up({{"u", 4, 0}}, {{6, {}}, {4, {0}}, {1, {0}}});
  EXPECT_EQ(instant({arrived(0), arrived(1), arrived(2)}),
            "arrived 0, arrived 1, arrived 2, held 2");
  EXPECT_EQ(holds_->next(), Time::never());
  start(0);
  holds_->decide(Time{5});
  EXPECT_EQ(holds_->next(), Time{6});
  EXPECT_EQ(instant({}), "held 1, released 2");
  EXPECT_EQ(holds_->next(), Time::never());
}

TEST_F(LimitHoldsTest, AJobThatHasStartedCountsToItsEnd) {
  set_up({{"u", 4, 0}}, {{4, {0}}, {4, {0}}});
  instant({arrived(0), arrived(1)});
  start(0);
  holds_->end_run(gang_of(0));  // the policy suspends it
  EXPECT_EQ(instant({}), "");
  start(0);
  EXPECT_EQ(instant({finished(0)}), "finished 0, released 1");
}

}  // namespace
}  // namespace fairlead
