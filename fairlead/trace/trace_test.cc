#include "fairlead/trace/trace.h"

#include "fairlead/trace/readers/readers.h"
#include "fairlead/trace/testing.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using testing::Counts;
using testing::error_of;
using testing::jobs_of;
using testing::Lines;
using testing::read_text;

ReadOptions with(const TraceFormat* format, Reading reading) {
  return {.format = format, .reading = reading};
}

// Reads a file of tests/data/traces, its format recognised by content.
Workload read_file(const std::string& name, const ReadOptions& options = {}) {
  auto workload = read_trace("tests/data/traces/" + name, options);
  EXPECT_TRUE(workload.has_value()) << workload.error().message;
  return workload.value_or(Workload{});
}

TEST(ReadNative, ReadsEveryColumn) {
  const Workload workload = read_file("native.csv");
  EXPECT_EQ(workload.name, "native.csv");
  EXPECT_EQ(jobs_of(workload), (Lines{"a ann ResNet50 4 0 3600000 1..8 V100", "b bob - 1 500 60001",
                                      "c, the third ann Says \"hi\" 2 1000000 250"}));
  EXPECT_EQ(workload.users.tickets[UserId(0)], 2);
  EXPECT_EQ(workload.users.tickets[UserId(1)], 1);
  EXPECT_EQ(workload.rows.rows_read, 3);
}

TEST(ReadNative, EveryBadFieldIsAnErrorWithItsPlace) {
  const std::string header = "job,user,model,gpus,submit_s,duration_s\n";
  EXPECT_EQ(error_of(header + "a,u,m,1,0,1\nb,u,m,x3,0,1\n", {}),
            "t:3:7: gpus must be a whole number from 1 to 1000000: x3");
  EXPECT_EQ(error_of(header + "a,u,m,0,0,1\n", {}),
            "t:2:7: gpus must be a whole number from 1 to 1000000: 0");
  EXPECT_EQ(error_of(header + "a,u,m,1.5,0,1\n", {}),
            "t:2:7: gpus must be a whole number from 1 to 1000000: 1.5");
  EXPECT_EQ(error_of(header + "a,u,m,1,-3,1\n", {}), "t:2:9: submit_s must not be negative: -3");
  EXPECT_EQ(error_of(header + "a,u,m,1,0,nan\n", {}),
            "t:2:11: duration_s must be seconds, such as 12 or 0.25: nan");
  EXPECT_EQ(error_of(header + "a,u,m,1,0,1e12\n", {}),
            "t:2:11: duration_s must be at most 100 years: 1e12");
  EXPECT_EQ(error_of(header + "a,u,m,1,0,0\n", {}),
            "t:2:11: duration must be from 1 ms to 100 years: 0 ms");
  EXPECT_EQ(error_of(header + ",u,m,1,0,1\n", {}), "t:2:1: job id must not be empty");
  EXPECT_EQ(error_of(header + "a,u,m,1,0,1\na,u,m,1,0,1\n", {}),
            "t:3:1: this job id occurred before: a");
  EXPECT_EQ(error_of(header + "a,u,m,1,0\n", {}),
            "t:2: row must have as many fields as the header");
}

TEST(ReadNative, OptionalColumnsAreCheckedToo) {
  const std::string header = "job,gpus,submit_s,duration_s,gpus_min,gpus_max,tickets,user\n";
  EXPECT_EQ(error_of(header + "a,4,0,1,5,,,u\n", {}), "t:2:9: gpus_min must be from 1 to gpus: 5");
  EXPECT_EQ(error_of(header + "a,4,0,1,,3,,u\n", {}),
            "t:2:10: gpus_max must be from gpus to 1000000: 3");
  EXPECT_EQ(error_of(header + "a,4,0,1,,,0,u\n", {}),
            "t:2:11: tickets must be a whole number from 1 to 1000000: 0");
  EXPECT_EQ(error_of(header + "a,4,0,1,,,2,u\nb,4,0,1,,,3,u\n", {}),
            "t:3:11: tickets must be the same in all rows of a user: 3 after 2");
}

TEST(ReadNative, UsersStandInGroups) {
  const std::string header = "job,gpus,submit_s,duration_s,user,group,group_tickets,group_quota\n";
  const auto workload =
      read_text(header +
                    "a,1,0,1,ann,vision,3,\nb,1,0,1,bob,,,\nc,1,0,1,cat,vision,,8\nd,1,0,1,ann,,,\n"
                    "e,1,0,1,dan,speech,,\n",
                {});
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  const Users& users = workload->users;
  EXPECT_EQ(users.groups.names[GroupId(0)], "vision");
  EXPECT_EQ(users.groups.tickets[GroupId(0)], 3);
  EXPECT_EQ(users.groups.quota[GroupId(0)], 8);
  EXPECT_EQ(users.groups.tickets[GroupId(1)], 1);
  EXPECT_EQ(users.groups.quota[GroupId(1)], 0);
  EXPECT_EQ(users.group_of(UserId(0)), GroupId(0));
  EXPECT_TRUE(users.group_of(UserId(1)).is_none());
  EXPECT_EQ(users.group_of(UserId(2)), GroupId(0));
  EXPECT_EQ(users.group_of(UserId(3)), GroupId(1));
}

TEST(ReadNative, GroupsAreTheSameInAllRows) {
  const std::string header = "job,gpus,submit_s,duration_s,user,group,group_tickets,group_quota\n";
  EXPECT_EQ(error_of(header + "a,1,0,1,u,g,,\nb,1,0,1,u,h,,\n", {}),
            "t:3:11: a user is in one group: h after g");
  EXPECT_EQ(error_of(header + "a,1,0,1,u,g,2,\nb,1,0,1,v,g,3,\n", {}),
            "t:3:13: group_tickets must be the same in all rows of a group: 3 after 2");
  EXPECT_EQ(error_of(header + "a,1,0,1,u,g,,2\nb,1,0,1,v,g,,3\n", {}),
            "t:3:14: group_quota must be the same in all rows of a group: 3 after 2");
  EXPECT_EQ(error_of(header + "a,1,0,1,u,,2,\n", {}),
            "t:2:11: group_tickets and group_quota need a group");
  EXPECT_EQ(error_of(header + "a,1,0,1,u,g,,0\n", {}),
            "t:2:14: group_quota must be a whole number from 1 to 1000000: 0");
}

TEST(ReadNative, TasksMustDivideTheGang) {
  const std::string header = "job,gpus,submit_s,duration_s,task_gpus\n";
  const auto workload = read_text(header + "a,4,0,1,2\nb,4,0,1,\nc,8,0,1,8\n", {});
  ASSERT_TRUE(workload.has_value());
  EXPECT_EQ(workload->jobs.task_gpus[JobId(0)], 2U);
  EXPECT_EQ(workload->jobs.task_gpus[JobId(1)], 1U);
  EXPECT_EQ(workload->jobs.task_gpus[JobId(2)], 8U);
  EXPECT_EQ(error_of(header + "a,4,0,1,3\n", {}),
            "t:2:9: task_gpus must divide gpus, gpus_min and gpus_max: 3");
  EXPECT_EQ(error_of(header + "a,4,0,1,0\n", {}),
            "t:2:9: task_gpus must be a whole number from 1 to 1000000: 0");
}

TEST(ReadNative, AJobMaySayHowManyCopiesItMayTrainAs) {
  const std::string header = "job,gpus,submit_s,duration_s,copies_max\n";
  const auto workload = read_text(header + "a,4,0,1,2\nb,4,0,1,\n", {});
  ASSERT_TRUE(workload.has_value());
  EXPECT_EQ(workload->jobs.extras_of(JobId(0)).copies_max, 2U);
  EXPECT_EQ(workload->jobs.extras_of(JobId(1)).copies_max, 0U);
  EXPECT_EQ(error_of(header + "a,4,0,1,0\n", {}),
            "t:2:9: copies_max must be a whole number from 1 to 65535: 0");
}

TEST(ReadNative, HeadersAreChecked) {
  EXPECT_EQ(error_of("job,submit_s,duration_s\n", {}), "t:1: the header lacks the column: gpus");
  EXPECT_EQ(error_of("job,gpus,submit_s,duration_s,prio\n", {}), "t:1:30: unknown column: prio");
  EXPECT_EQ(error_of("", {.format = &kNativeFormat}), "t: the file is empty");
}

TEST(ReadNative, LenientReadingCountsInstead) {
  const auto workload = read_text(
      "job,gpus,submit_s,duration_s,priority\n"
      "a,1,0,1,9\n"
      "a,1,0,1,9\n"
      "b,x,0,1,9\n"
      "c,1,0,0,9\n"
      "d,1,0\n",
      with(&kNativeFormat, Reading::kLenient));
  EXPECT_EQ(jobs_of(*workload),
            (Lines{"a default - 1 0 1000 priority=9", "a#2 default - 1 0 1000 priority=9"}));
  EXPECT_EQ(workload->rows.rows_rejected,
            (Counts{{"gpus must be a whole number from 1 to 1000000", 1},
                    {"duration must be from 1 ms to 100 years", 1},
                    {"row must have as many fields as the header", 1}}));
  EXPECT_EQ(workload->rows.rows_repaired, (Counts{{"duplicate id renamed", 1}}));
}

TEST(ReadNormalized, TakesTenantsForUsers) {
  const Workload workload = read_file("normalized.csv");
  EXPECT_EQ(jobs_of(workload), (Lines{"n-0 t1 - 8 0 2240194000", "n-1 t2 - 1 235696000 32500",
                                      "n-1#2 t2 - 1 235697000 33000"}));
  EXPECT_EQ(workload.rows.rows_rejected, (Counts{{"duration must be from 1 ms to 100 years", 1}}));
}

TEST(ReadNormalized, RoundsPartsOfAGpuUp) {
  const Workload workload = read_file("openb_normalized.csv");
  EXPECT_EQ(jobs_of(workload), (Lines{"pod-0 LS - 1 0 125000 start=0 cpus=12 memory_gb=16",
                                      "pod-1 LS - 1 427000 124000 start=427000 cpus=6 memory_gb=12",
                                      "pod-3 BE - 2 431000 50000 cpus=6 memory_gb=12"}));
  EXPECT_EQ(workload.rows.rows_rejected, (Counts{{"no GPU", 1}}));
  EXPECT_EQ(workload.rows.rows_repaired, (Counts{{"fractional GPU rounded up", 1}}));
}

TEST(ReadTiresias, ReadsTheSimulatorsTrace) {
  EXPECT_EQ(jobs_of(read_file("tiresias.csv")),
            (Lines{"0 default vgg19 1 0 164000", "1 default vgg11 8 30000 147000",
                   "2 default inception4 2 53000 127000"}));
}

TEST(ReadGavel, TurnsStepsIntoTime) {
  const Workload workload = read_file("gavel.tsv");
  // 4395 / 4.395, 110997 / 110.997, and A3C's two GPUs at twice 7.176 steps per second.
  EXPECT_EQ(jobs_of(workload), (Lines{"0 default ResNet-50 (batch size 64) 1 0 1000000 V100",
                                      "1 default LM (batch size 20) 4 161000 1000000 V100",
                                      "2 default A3C 2 226000 1000000 V100"}));
  EXPECT_EQ(workload.rows.rows_repaired, (Counts{{"throughput scaled from a smaller gang", 1}}));
  EXPECT_EQ(workload.rows.rows_rejected, (Counts{{"job_type has no known throughput", 1}}));
}

TEST(ReadGavel, TakesAnotherTable) {
  const auto table = [](std::string_view, std::int64_t gpus) { return gpus == 1 ? 2.0 : 0.0; };
  const Workload workload = read_file("gavel.tsv", {.steps_per_second = table});
  EXPECT_EQ(jobs_of(workload).back(), "3 default UnknownNet 1 227500 5000 V100");
  EXPECT_EQ(jobs_of(workload).front(), "0 default ResNet-50 (batch size 64) 1 0 2197500 V100");
}

// The built-in table "gavel" has single GPUs, whose rate gangs of any size take.
TEST(ReadGavel, TakesTheRunsOwnTable) {
  const auto speeds = steps_per_second_of("gavel");
  ASSERT_TRUE(speeds.has_value()) << speeds.error().message;
  EXPECT_EQ((*speeds)("LM (batch size 20)", 4), 4 * 64.742);
  const Workload workload = read_file("gavel.tsv", {.steps_per_second = *speeds});
  EXPECT_EQ(jobs_of(workload)[1], "1 default LM (batch size 20) 4 161000 428613 V100");
  EXPECT_TRUE(workload.rows.rows_repaired.empty());
}

TEST(ReadGavel, TakesPublishedSpeedsOfModelsThatTheTableLacks) {
  const auto speeds = steps_per_second_of("slides");
  ASSERT_TRUE(speeds.has_value()) << speeds.error().message;
  EXPECT_EQ((*speeds)("ResNet-18 (batch size 256)", 1), 10.3);
}

TEST(ReadGavel, HasNoTableThatCannotBeRead) {
  EXPECT_FALSE(steps_per_second_of("no/such.yaml").has_value());
}

TEST(ReadGavel, TakesThePriorityAsWeight) {
  std::string text;
  for (const char* priority : {"1", "5.0", "1.000000"}) {
    text += fmt::format("A3C\tc\tw\ts\t1\t7176\t1\t{}\t-1\t0\n", priority);
  }
  const auto workload = read_text(text, with(&kGavelFormat, Reading::kStrict));
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  EXPECT_EQ(jobs_of(*workload),
            (Lines{"0 default A3C 1 0 1000000 V100", "1 priority-5 A3C 1 0 1000000 V100",
                   "2 default A3C 1 0 1000000 V100"}));
  EXPECT_EQ(workload->users.tickets[UserId(1)], 5);
  EXPECT_EQ(error_of("A3C\tc\tw\ts\t1\t5\t1\t0.5\t-1\t0\n", with(&kGavelFormat, Reading::kStrict)),
            "t:1:17: priority must be a whole number of at least 1: 0.5");
}

TEST(ReadGavel, ShockwaveTellsDurations) {
  EXPECT_EQ(jobs_of(read_file("shockwave.tsv")),
            (Lines{"0 default LM (batch size 10) 1 0 1418000 V100",
                   "1 default ResNet-18 (batch size 32) 2 55000 3338000 V100"}));
}

TEST(ReadGavel, StrictErrorsHaveAPlace) {
  const auto strict = with(&kGavelFormat, Reading::kStrict);
  EXPECT_EQ(error_of("A3C\tc\tw\ts\t1\tmany\t1\t1\t-1\t0\n", strict),
            "t:1:13: total_steps must be a whole number from 1 to 1000000000000000: many");
  EXPECT_EQ(error_of("X\tc\tw\ts\t1\t5\t1\t1\t-1\t0\n", strict),
            "t:1:1: job_type has no known throughput: X");
  EXPECT_EQ(error_of("A3C\tc\tw\ts\t1\t1000000000000000\t1\t1\t-1\t0\n", strict),
            "t:1:13: total_steps must take at most 100 years: 1000000000000000");
}

TEST(PublishedThroughput, HasGavelsFigures) {
  EXPECT_EQ(published_steps_per_second("ResNet-18 (batch size 256)", 1), 10.3);
  EXPECT_EQ(published_steps_per_second("Transformer (batch size 64)", 8), 49.651);
  EXPECT_EQ(published_steps_per_second("Transformer (batch size 32)", 8), 0);
  EXPECT_EQ(published_steps_per_second("Nothing", 1), 0);
}

TEST(ReadHelios, LeavesOutCpuJobsAndStartsAtZero) {
  const Workload workload = read_file("helios.csv");
  EXPECT_EQ(jobs_of(workload),
            (Lines{"100 ua - 8 0 60000 cpus=32", "102 default - 1 86400000 3000 cpus=4"}));
  EXPECT_EQ(workload.rows.rows_rejected,
            (Counts{{"no GPU", 1}, {"duration must be from 1 ms to 100 years", 1}}));
  EXPECT_EQ(error_of("job_id,user,vc,gpu_num,submit_time,duration\n1,u,v,1,yesterday,5\n",
                     with(&kHeliosFormat, Reading::kStrict)),
            "t:2:9: submit_time must be a time, such as 2017-10-09 07:01:59: yesterday");
}

TEST(ReadAcme, KnowsOffsets) {
  const Workload workload = read_file("acme.csv");
  EXPECT_EQ(jobs_of(workload),
            (Lines{"dlc1 u01 - 16 0 3600000 cpus=240", "dlc3 u02 - 8 0 55000 cpus=16"}));
  EXPECT_EQ(workload.rows.rows_rejected, (Counts{{"no GPU", 1}}));
}

TEST(ReadPai, MakesAGangOfEveryTask) {
  const Workload workload = read_file("pai.csv");
  EXPECT_EQ(jobs_of(workload),
            (Lines{"j1/worker default - 2 0 100000 cpus=12 memory_gb=58.6",
                   "j2/tensorflow default - 2 5000 100500 V100 cpus=6 memory_gb=29.3"}));
  EXPECT_EQ(workload.rows.rows_rejected, (Counts{{"no GPU", 1}, {"not ended", 1}}));
  EXPECT_EQ(workload.rows.rows_repaired, (Counts{{"fractional GPU rounded up", 1}}));
}

// Nodes of a job: 2 of 8 GPUs, 3 that do not divide 8, unknown.
TEST(ReadHelios, HasATaskPerNodeWhereTasksAreAskedFor) {
  const std::string text =
      "job_id,user,vc,gpu_num,node_num,submit_time,duration\n"
      "1,u,v,16,2,2020-04-01 00:00:10,5\n2,u,v,8,3,2020-04-01 00:00:10,5\n"
      "3,u,v,4,,2020-04-01 00:00:10,5\n";
  const auto plain = read_text(text, {});
  const auto tasks = read_text(text, {.tasks = Tasks::kAsInTrace});
  ASSERT_TRUE(plain.has_value() && tasks.has_value());
  constexpr std::uint32_t kTasks[] = {8, 1, 1};
  for (JobId job : ids<JobId>(3)) {
    EXPECT_EQ(plain->jobs.task_gpus[job], 1U);
    EXPECT_EQ(tasks->jobs.task_gpus[job], kTasks[job.row()]);
  }
}

TEST(ReadPai, AnInstanceIsATaskWhereTasksAreAskedFor) {
  const auto tasks = read_trace("tests/data/traces/pai.csv", {.tasks = Tasks::kAsInTrace});
  ASSERT_TRUE(tasks.has_value());
  EXPECT_EQ(tasks->jobs.task_gpus[JobId(0)], 1U) << "2 instances of half a GPU";
  EXPECT_EQ(tasks->jobs.task_gpus[JobId(1)], 2U) << "one of 2 GPUs";
}

TEST(ReadOpenb, CountsFromTheScheduling) {
  const Workload workload = read_file("openb.csv");
  EXPECT_EQ(
      jobs_of(workload),
      (Lines{"openb-pod-0000 LS - 1 0 12537496000 start=0 cpus=12 memory_gb=16",
             "openb-pod-0001 LS - 1 427061000 12475899000 start=427061000 cpus=6 memory_gb=12",
             "openb-pod-0003 BE - 8 100000 50500 cpus=6 memory_gb=12"}));
  EXPECT_EQ(workload.rows.rows_rejected, (Counts{{"no GPU", 1}}));
}

TEST(ReadSacct, KnowsResourceLists) {
  const Workload workload = read_file("sacct.txt");
  EXPECT_EQ(jobs_of(workload),
            (Lines{"77 ann - 8 5000 60000 start=60000 cpus=8 account=lab",
                   "78_4 bob - 4 0 61000 v100 start=60000 cpus=8 account=lab",
                   "80 default - 6 20000 62000 start=60000 cpus=8 account=lab"}));
  EXPECT_EQ(workload.rows.rows_rejected, (Counts{{"job step", 1}, {"no GPU", 1}}));
  EXPECT_EQ(error_of("JobID|Submit|ElapsedRaw|AllocTRES\n"
                     "1|2024-01-02T03:04:05|5|cpu=1,gres/gpu=1x\n",
                     with(&kSacctFormat, Reading::kStrict)),
            "t:2:25: AllocTRES must name whole GPUs: cpu=1,gres/gpu=1x");
}

std::string asks_of(std::string_view header, std::string_view row) {
  const auto workload = read_text(
      fmt::format("JobID|Submit|ElapsedRaw|{}\n1|2024-01-02T03:04:05|5|{}\n", header, row),
      with(&kSacctFormat, Reading::kStrict));
  FL_CHECK(workload.has_value(), "{}", workload.error().message);
  const CpuMemory asks = workload->asks_of(JobId(0));
  return fmt::format("{} {}", asks.cpus.value, asks.memory_gb.value);
}

TEST(ReadSacct, KnowsCpusAndMemory) {
  EXPECT_EQ(asks_of("ReqTRES|AllocTRES", "cpu=16,mem=64G,gres/gpu=2|cpu=128,mem=1T,gres/gpu=2"),
            "16000 64000")
      << "the request counts";
  EXPECT_EQ(asks_of("ReqTRES|AllocTRES", "cpu=16,gres/gpu=2|cpu=128,mem=1.50T,gres/gpu=2"),
            "16000 1536000");
  EXPECT_EQ(asks_of("AllocTRES", "cpu=1,mem=512M,gres/gpu=2"), "1000 500");
  EXPECT_EQ(asks_of("AllocTRES", "mem=2048,gres/gpu=2"), "0 2000") << "in MB";
  EXPECT_EQ(asks_of("AllocTRES", "mem=?,cpu=x,gres/gpu=2"), "0 0");
  EXPECT_EQ(asks_of("ReqGRES|ReqCPUS|ReqMem", "gpu:2|8|32G"), "8000 32000");
  EXPECT_EQ(asks_of("ReqGRES|ReqCPUS|ReqMem", "gpu:2|8|4Gc"), "8000 32000") << "for each CPU";
  EXPECT_EQ(asks_of("ReqGRES|NNodes|ReqMem", "gpu:2|3|4Gn"), "0 12000") << "for each node";
}

TEST(ReadTable, KnowsCpusAndMemory) {
  const auto workload = read_text(
      "job,gpus,submit,duration,ncpus,memory (gb)\na,1,0,10,8,32.5\nb,1,0,10,none,\n", {});
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  EXPECT_EQ(workload->asks_of(JobId(0)), (CpuMemory{{8'000}, {32'500}}));
  EXPECT_EQ(workload->asks_of(JobId(1)), CpuMemory());
}

TEST(ReadSacct, LeavesOutWhatNeverStarted) {
  const auto workload = read_text(
      "JobID|Submit|ElapsedRaw|AllocTRES|ReqTRES\n"
      "1|2024-01-02T03:04:05|5|gres/gpu=1|gres/gpu=1\n"
      "2|2024-01-02T03:04:05|0||gres/gpu=1\n",
      with(&kSacctFormat, Reading::kLenient));
  EXPECT_EQ(workload->rows.rows_rejected, (Counts{{"never started", 1}}));
}

TEST(ReadTrace, UndoesCompression) {
  const auto plain = jobs_of(read_file("native.csv"));
  for (const char* name : {"valid.csv.gz", "valid.csv.zst"}) {
    const auto workload = read_trace(std::string("fuzz/corpus/native/") + name, {});
    ASSERT_TRUE(workload.has_value()) << workload.error().message;
    EXPECT_EQ(jobs_of(*workload), plain);
    EXPECT_EQ(workload->name, name);
  }
}

TEST(ReadTrace, ATruncatedFileIsAnErrorInEveryReading) {
  const std::string path = "fuzz/corpus/native/truncated.csv.gz";
  for (const Reading reading : {Reading::kStrict, Reading::kLenient})
    EXPECT_EQ(read_trace(path, with(&kNativeFormat, reading)).error().message,
              path + ": the gzip data is truncated");
}

TEST(ReadTrace, RefusesUnknownFormats) {
  EXPECT_EQ(
      error_of("time,load\n1,2\n", {}),
      fmt::format(
          "t:1: cannot recognise the format of this trace; name it (--format {}) or its columns "
          "(--columns job=NAME,gpus=NAME,submit=NAME,duration=NAME): time,load",
          format_names()));
}

TEST(ReadTrace, NamesTheFileItCannotOpen) {
  EXPECT_EQ(read_trace("no/such.csv", {}).error().message,
            "no/such.csv: cannot open: No such file or directory");
}

TEST(ReadTrace, AHeaderAloneIsAnEmptyWorkload) {
  EXPECT_EQ(read_text("job,gpus,submit_s,duration_s\n", {})->jobs.size(), 0u);
}

}  // namespace
}  // namespace fairlead
