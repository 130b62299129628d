#include "fairlead/slurm/queue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fairlead {
namespace {

Result<SlurmQueue> read(std::string_view text) {
  auto source = ByteSource::memory(text, "squeue.txt");
  return read_slurm_queue(*source);
}

std::string rows(const SlurmQueue& queue) {
  std::string text;
  for (const SlurmQueuedJob& job : queue.jobs) {
    text += fmt::format("{} {} {} {} on {} {} {} {}\n", job.id, job.user,
                        job.runs ? "runs" : "waits", job.gpus, job.nodes, job.gpu_type, job.ran.ms,
                        job.limit ? fmt::to_string(job.limit->ms) : "-");
  }
  return text;
}

TEST(SlurmQueue, HasTheJobsThatWantGpus) {
  const auto queue = read(
      "JOBID |USER|STATE|TIME|TIME_LIMIT|NODES|TRES_ALLOC|REASON|\n"
      "101   |ann "
      "|RUNNING|1-01:00:00|2-00:00:00|2|cpu=64,mem=1G,node=2,gres/gpu=8,gres/gpu:a100=8|None|\n"
      "102   |bob |RUNNING|5:03|UNLIMITED|1|cpu=8,gres/gpu=1|None|\n"
      "103_4 |bob |PENDING|0:00|1:00:00|1|cpu=8,gres/gpu:v100=2|Priority|\n"
      "104   |eve |PENDING|0:00|1:00:00|1|cpu=8,gres/gpu=2|JobHeldUser|\n"
      "105   |eve |PENDING|0:00|1:00:00|1|cpu=8,gres/gpu=2|Dependency|\n"
      "106   |eve |PENDING|0:00|1:00:00|1|cpu=8|Resources|\n"
      "107   |eve |COMPLETING|0:10|1:00:00|1|cpu=8,gres/gpu=2|None|\n");
  ASSERT_TRUE(queue) << queue.error().message;
  EXPECT_EQ(rows(*queue),
            "101 ann runs 8 on 2 a100 90000000 172800000\n"
            "102 bob runs 1 on 1  303000 -\n"
            "103_4 bob waits 2 on 1 v100 0 3600000\n");
  EXPECT_EQ(
      queue->left_out,
      (std::map<std::string, std::int64_t, std::less<>>{
          {"held", 1}, {"no GPU", 1}, {"state COMPLETING", 1}, {"waits for another job", 1}}));
}

TEST(SlurmQueue, HasQosAndAccountIfTheyAreAskedFor) {
  const auto queue = read(
      "JOBID|STATE|TIME|TRES_ALLOC|ACCOUNT|QOS|\n"
      "1|PENDING|0:00|gres/gpu=1|physics|normal|\n");
  ASSERT_TRUE(queue) << queue.error().message;
  EXPECT_EQ(queue->jobs[0].qos, "normal");
  EXPECT_EQ(queue->jobs[0].account, "physics");
}

TEST(SlurmQueue, CountsTheGpusOfEachNodeWhereOnlyTheyAreTold) {
  const auto queue = read(
      "JOBID|USER|ST|TIME|NODES|TRES_PER_NODE\n"
      "1|ann|R|10:00|2|gres/gpu:a100:4\n"
      "2|ann|PD|0:00|3|gpu:2\n"
      "3|ann|PD|0:00|1|gres:gpu:v100\n"
      "4|ann|PD|0:00|1|N/A\n");
  ASSERT_TRUE(queue) << queue.error().message;
  EXPECT_EQ(rows(*queue),
            "1 ann runs 8 on 2 a100 600000 -\n"
            "2 ann waits 6 on 3  0 -\n"
            "3 ann waits 1 on 1 v100 0 -\n");
}

TEST(SlurmQueue, WhatIsWrongIsToldWithItsPlace) {
  constexpr std::string_view kHeader = "JOBID|STATE|TIME|TRES_ALLOC\n";
  const std::pair<std::string, std::string_view> cases[] = {
      {"7_[1-9]|PENDING|0:00|gres/gpu=1",
       "squeue.txt:2:1: JOBID is a whole array; squeue --array has a line for each job of it: "
       "7_[1-9]"},
      {"7|RUNNING|soon|gres/gpu=1",
       "squeue.txt:2:11: TIME must be a length of time, such as 1:02:03 or 2-01:02:03: soon"},
      {"7|RUNNING|1:00|cpu=1,gres/gpu=x",
       "squeue.txt:2:16: TRES_ALLOC must name whole GPUs: cpu=1,gres/gpu=x"}};
  for (const auto& [row, message] : cases) {
    const auto queue = read(fmt::format("{}{}\n", kHeader, row));
    ASSERT_FALSE(queue) << row;
    EXPECT_EQ(queue.error().message, message);
  }
  const auto plain = read("JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n");
  ASSERT_FALSE(plain);
  EXPECT_NE(plain.error().message.find("squeue --all --array"), std::string::npos)
      << plain.error().message;
}

}  // namespace
}  // namespace fairlead
