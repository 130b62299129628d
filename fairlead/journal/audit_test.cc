#include "fairlead/journal/audit.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// A correct journal of two nodes of four GPUs: job 0 (4 GPUs, 10 s) and job 1 (6 GPUs, 20 s on both
// nodes, after job 0). Tests damage one record of it.
class Canary : public testing::Test {
 protected:
  Canary() {
    add(0, record::Run{.jobs = 2});
    for (std::size_t n : {0U, 1U}) add(0, record::Node{.node = NodeId(n), .gpus = 4});
    arrived(0, 4, seconds(10));
    place(0, 0, {{NodeId(0), 4}}, {0xf});
    arrived(1, 6, seconds(20));
    add(10'000, record::Finished{JobId(0)});
    place(1, 10'000, {{NodeId(0), 4}, {NodeId(1), 2}}, {0xf, 0x3});
    add(30'000, record::Finished{JobId(1)});
    add(30'000, record::End{{.finished = 2}});
  }

  template <class What>
  void add(std::int64_t ms, const What& what) {
    records.push_back({{ms}, what});
  }
  template <class What>
  void insert(std::size_t index, std::int64_t ms, const What& what) {
    records.insert(records.begin() + static_cast<long>(index), Record{{ms}, what});
  }
  void arrived(std::size_t number, std::uint32_t gpus, Duration work) {
    add(0, record::Arrived{{.job = JobId(number),
                            .gpus = gpus,
                            .gpus_min = gpus,
                            .gpus_max = gpus,
                            .work = work}});
  }
  void place(std::size_t number, std::int64_t ms, std::vector<Slice> gang,
             std::vector<std::uint64_t> masks) {
    gangs.push_back(std::move(gang));
    gpu_masks.push_back(std::move(masks));
    add(ms,
        record::Place{.job = JobId(number), .gang = gangs.back(), .gpu_masks = gpu_masks.back()});
  }
  record::Place& placed(std::size_t index) { return std::get<record::Place>(records[index].what); }
  std::vector<std::string> audit() const {
    Audit audit;
    for (const Record& record : records) audit.on(record);
    EXPECT_EQ(audit.passed(), audit.problems().empty());
    return audit.problems();
  }
  void erase(std::size_t index) { records.erase(records.begin() + static_cast<long>(index)); }

  static constexpr std::size_t kNode1 = 2, kArriveJob1 = 5, kFinishJob0 = 6, kPlaceJob1 = 7,
                               kFinishJob1 = 8;
  std::vector<Record> records;
  std::vector<std::vector<Slice>> gangs;
  std::vector<std::vector<std::uint64_t>> gpu_masks;
};

TEST_F(Canary, ACorrectJournalPasses) { EXPECT_EQ(audit(), std::vector<std::string>{}); }

TEST_F(Canary, ADoubleGrantIsFound) {
  records[kPlaceJob1].t = {5'000};
  std::swap(records[kPlaceJob1], records[kFinishJob0]);
  ASSERT_FALSE(audit().empty());
  EXPECT_EQ(audit()[0],
            "at 5000 ms: job 1 is granted GPUs 0xf of node 0, which are allocated already");
}

TEST_F(Canary, ASplitGangIsFound) {
  placed(kPlaceJob1).gang = Gang(gangs[1]).first(1);
  EXPECT_EQ(audit(), std::vector<std::string>{"at 10000 ms: job 1 gets 4 GPUs and asks for 6 to 6: "
                                              "its gang is split"});
}

TEST_F(Canary, AGangBeyondTheLevelThatItsJobRequiresIsFound) {
  std::get<record::Node>(records[kNode1].what).rack = RackId(1);
  Closeness& closeness = std::get<record::Arrived>(records[kArriveJob1].what).asked.closeness;
  EXPECT_EQ(audit(), std::vector<std::string>{});
  closeness.required = kRackLevel;
  ASSERT_FALSE(audit().empty());
  EXPECT_EQ(audit()[0], "at 10000 ms: job 1 gets nodes 0 and 1, which share no rack");
}

TEST_F(Canary, ASplitTaskIsFound) {
  std::get<record::Arrived>(records[kArriveJob1].what).asked.task_gpus = 2;
  EXPECT_EQ(audit(), std::vector<std::string>{});
  std::get<record::Arrived>(records[kArriveJob1].what).asked.task_gpus = 3;
  ASSERT_FALSE(audit().empty());
  EXPECT_EQ(audit()[0], "at 10000 ms: job 1 gets 4 GPUs of node 0, which splits a task of 3");
}

TEST_F(Canary, CopiesOfAJobAddTheirWork) {
  placed(kPlaceJob1).gang = Gang(gangs[1]).first(1);
  placed(kPlaceJob1).gpu_masks = std::span(gpu_masks[1]).first(1);
  JobSpec& asked = std::get<record::Arrived>(records[kArriveJob1].what).asked;
  asked.gpus_min = asked.gpus_max = 4;
  gangs.push_back({{NodeId(1), 4}});
  gpu_masks.push_back({0xf});
  insert(kFinishJob1, 10'000,
         record::Place{
             .job = JobId(1), .gang = gangs.back(), .gpu_masks = gpu_masks.back(), .copy = 1});
  record::Place& copy = placed(kFinishJob1);
  Record& finish = records[kFinishJob1 + 1];
  finish.t = {20'000};  // 20 s of work at twice the speed
  EXPECT_EQ(audit(), std::vector<std::string>{});

  finish.t = {19'000};
  EXPECT_EQ(audit()[0], "at 19000 ms: job 1 finishes with 2000 ms of work left");
  copy.copy = 2;
  EXPECT_EQ(audit()[0], "at 10000 ms: job 1: copy 2 is not placed together with those before it");
  copy.copy = 1;
  copy.gang = gangs[0];
  EXPECT_EQ(audit()[0],
            "at 10000 ms: job 1 is granted GPUs 0xf of node 0, which are allocated already");
  EXPECT_EQ(audit()[1], "at 10000 ms: job 1 is placed on node 0 twice");
}

TEST_F(Canary, ALostJobIsFound) {
  erase(kFinishJob1);
  ASSERT_FALSE(audit().empty());
  EXPECT_EQ(audit()[0], "at 30000 ms: job 1 is lost: its work is done, but it did not finish");
}

TEST_F(Canary, AJobStoppedInsteadOfFinishedIsFound) {
  records[kFinishJob1].what = record::Stop{JobId(1)};
  ASSERT_FALSE(audit().empty());
  EXPECT_EQ(audit()[0], "at 30000 ms: job 1 is stopped, but its work is done");
}

TEST_F(Canary, AJobMissingFromTheCountsIsFound) {
  records.back().what = record::End{{.finished = 1}};
  ASSERT_EQ(audit().size(), 1U);
  EXPECT_TRUE(audit()[0].find("the end record counts 1 finished") != std::string::npos);
}

TEST_F(Canary, AnEarlyFinishIsFound) {
  records[kFinishJob1].t = {29'000};
  EXPECT_EQ(audit()[0], "at 29000 ms: job 1 finishes with 1000 ms of work left");
}

TEST_F(Canary, ALateFinishIsFound) {
  records[kFinishJob1].t = {30'001};
  EXPECT_EQ(audit()[0], "at 30001 ms: job 1 finishes with -1 ms of work left");
}

TEST_F(Canary, AGpuThatTheNodeDoesNotHaveIsFound) {
  gpu_masks[0] = {0x17};
  EXPECT_EQ(audit()[0], "at 0 ms: job 0 is granted GPUs 0x17 of node 0, which has 0xf");
}

TEST_F(Canary, APlacementOnANodeThatIsDownIsFound) {
  insert(kPlaceJob1, 10'000, record::GpusDown{NodeId(1)});
  EXPECT_EQ(audit()[0], "at 10000 ms: job 1 is placed on node 1, which is down");
}

TEST_F(Canary, ANodeThatGoesDownUnderAJobIsFound) {
  insert(kFinishJob0, 5'000, record::GpusUp{NodeId(1)});
  insert(kFinishJob0, 5'000, record::GpusDown{NodeId(1)});
  EXPECT_EQ(audit(), std::vector<std::string>{}) << "no job has its GPUs";
  records[kFinishJob0].what = record::GpusDown{NodeId(0)};
  records[kFinishJob0 + 1].what = record::GpusUp{NodeId(0)};
  records[kFinishJob0 + 1].t = {10'000};
  std::swap(records[kFinishJob0 + 1],
            records[kFinishJob0 + 2]);  // the GPUs come up after its job has ended
  EXPECT_EQ(audit(), std::vector<std::string>{
                         "at 5000 ms: node 0 goes down while its GPUs 0xf are allocated"});
}

// Job 1 works at speed 1 for 4 s and at half the speed for the other 16 s of its work.
TEST_F(Canary, AChangedSpeedCountsFromItsMoment) {
  insert(kFinishJob1, 14'000, record::Speed{JobId(1), Rate::of(0.5)});
  Record& finish = records[kFinishJob1 + 1];
  finish.t = {46'000};
  records.back().t = {46'000};
  EXPECT_EQ(audit(), std::vector<std::string>{});
  finish.t = {45'000};
  EXPECT_EQ(audit()[0], "at 45000 ms: job 1 finishes with 500 ms of work left");
}

TEST_F(Canary, ASpeedThatChangesTwiceAtOneInstantIsFound) {
  insert(kFinishJob1, 14'000, record::Speed{JobId(1), Rate::of(0.5)});
  insert(kFinishJob1, 14'000, record::Speed{JobId(1), Rate::of(0.25)});
  EXPECT_EQ(audit()[0], "at 14000 ms: job 1 changes its speed twice at one instant");
}

TEST_F(Canary, TimeRunningBackwardsIsFound) {
  records[kFinishJob1].t = {1};
  EXPECT_FALSE(audit().empty());
}

TEST_F(Canary, ASecondSubmissionIsFound) {
  records.insert(records.begin() + kFinishJob0, records[3]);
  EXPECT_EQ(audit()[0], "at 0 ms: job 0 is submitted twice");
}

TEST_F(Canary, AJournalCutOffDoesNotPass) {
  Audit audit;
  for (std::size_t i = 0; i + 1 < records.size(); ++i) audit.on(records[i]);
  EXPECT_FALSE(audit.passed());
}

}  // namespace
}  // namespace fairlead
