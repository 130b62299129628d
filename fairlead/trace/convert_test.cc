#include "fairlead/trace/convert.h"

#include "fairlead/input/civil_time.h"
#include "fairlead/trace/testing.h"
#include "fairlead/trace/trace.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace fairlead {
namespace {

using testing::jobs_of;
using testing::read_text;

std::string native_text(const Workload& workload) {
  std::string text;
  write_native(workload, [&](std::string_view piece) { text += piece; });
  return text;
}

// Returns the groups of each user in words, because groups may be numbered differently.
std::vector<std::string> groups_of(const Workload& workload) {
  const Groups& groups = workload.users.groups;
  std::vector<std::string> lines;
  for (UserId user : ids<UserId>(workload.users.size())) {
    const GroupId group = workload.users.group_of(user);
    lines.push_back(group.is_none() ? ""
                                    : fmt::format("{}: {} {}", groups.names[group],
                                                  groups.tickets[group], groups.quota[group]));
  }
  return lines;
}

void expect_equal(const Workload& a, const Workload& b) {
  EXPECT_EQ(jobs_of(a), jobs_of(b));
  EXPECT_EQ(a.users.names, b.users.names);
  EXPECT_EQ(a.users.tickets, b.users.tickets);
  EXPECT_EQ(groups_of(a), groups_of(b));
  EXPECT_EQ(a.models, b.models);
  EXPECT_EQ(a.jobs.user, b.jobs.user);
  EXPECT_EQ(a.jobs.model, b.jobs.model);
  EXPECT_EQ(a.jobs.task_gpus, b.jobs.task_gpus);
}

TEST(WriteNative, WritesOnlyTheColumnsItNeeds) {
  const auto plain = read_text("job,gpus,submit_s,duration_s\na,2,0.5,10\nb,1,0,0.0001\n", {});
  EXPECT_EQ(native_text(*plain),
            "job,user,model,gpus,submit_s,duration_s\n"
            "a,default,,2,0.5,10\n"
            "b,default,,1,0,0.001\n");
}

TEST(WriteNative, KeepsTheCalendar) {
  const std::string text =
      "job,user,model,gpus,submit_s,duration_s,start_s\n"
      "a,u,,2,1790834400.5,10,1790834500\n"
      "b,u,,1,1790834401,1,\n";
  const auto workload = read_text(text, {});
  EXPECT_EQ(workload->jobs.arrival[JobId(1)], Time{500}) << "the first submission is time 0";
  EXPECT_EQ(workload->jobs.logged[JobId(0)].start, Time{99'500});
  EXPECT_EQ(workload->reading.times, "Unix times");
  EXPECT_EQ(native_text(*workload), text);
}

TEST(WriteNative, LeavesTimesOfATraceWithoutACalendar) {
  const std::string text =
      "job,user,model,gpus,submit_s,duration_s\na,u,,2,946684799,10\nb,u,,1,946684800,1\n";
  EXPECT_EQ(read_text(text, {})->reading.times, "");
  EXPECT_EQ(native_text(*read_text(text, {})), text);
}

TEST(WriteNative, WritesTheMostCopiesOfJobsThatSayIt) {
  const std::string text =
      "job,user,model,gpus,submit_s,duration_s,copies_max\na,u,,4,0,10,3\nb,u,,1,0,1,\n";
  EXPECT_EQ(native_text(*read_text(text, {})), text);
}

TEST(WriteNative, WritesTasksOfSeveralGpus) {
  const std::string text =
      "job,user,model,gpus,submit_s,duration_s,task_gpus\na,u,,4,0,10,2\nb,u,,1,0,1,1\n";
  EXPECT_EQ(native_text(*read_text(text, {})), text);
}

TEST(WriteNative, WritesTheTypesThatJobsRunOn) {
  const std::string text =
      "job,user,model,gpus,submit_s,duration_s,runs_on\na,u,,4,0,10,H100/"
      "pool=b+A100\nb,u,,1,0,1,\n";
  EXPECT_EQ(native_text(*read_text(text, {})), text);
}

TEST(WriteNative, WritesCpusAndMemory) {
  const std::string text =
      "job,user,model,gpus,submit_s,duration_s,cpus,memory_gb\n"
      "a,u,,4,0,10,32,128.5\nb,v,,1,0,1,0.125,\nc,w,,1,0,1,,1\n";
  EXPECT_EQ(native_text(*read_text(text, {})), text);
}

TEST(WriteNative, WritesTheGroupsOfUsers) {
  const std::string text =
      "job,user,model,gpus,submit_s,duration_s,group,group_tickets,group_quota\n"
      "a,u,,4,0,10,g,2,\nb,v,,1,0,1,,,\nc,w,,1,0,1,h,1,8\n";
  EXPECT_EQ(native_text(*read_text(text, {})), text);
}

TEST(WriteNative, ReadsBackEqual) {
  for (const char* name : {"native.csv", "normalized.csv", "tiresias.csv", "gavel.tsv",
                           "philly.json", "helios.csv", "pai.csv", "sacct.txt", "swf.swf"}) {
    const auto workload = read_trace(std::string("tests/data/traces/") + name, {});
    ASSERT_TRUE(workload.has_value()) << name;
    const auto again = read_text(native_text(*workload), {});
    ASSERT_TRUE(again.has_value()) << name << ": " << again.error().message;
    expect_equal(*workload, *again);
  }
}

TEST(WriteNative, WritesAFile) {
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("fairlead-convert-test-{}.csv", ::getpid());
  const auto workload = read_trace("tests/data/traces/native.csv", {});
  EXPECT_TRUE(write_native(*workload, path).has_value());
  const auto again = read_trace(path, {});
  std::filesystem::remove(path);
  ASSERT_TRUE(again.has_value());
  expect_equal(*workload, *again);
  EXPECT_EQ(write_native(*workload, "no/such/folder.csv").error().kind, Error::Kind::kRun);
}

RC_GTEST_PROP(WriteNative, AnyWorkloadReadsBackEqual, ()) {
  const auto name = rc::gen::nonEmpty(rc::gen::container<std::string>(
      rc::gen::element('a', 'b', ',', '"', '\n', '\r', ' ', '\t', '#', '\0')));
  WorkloadBuilder builder("w", Reading::kLenient);
  const int jobs = *rc::gen::inRange(0, 20);
  for (int i = 0; i < jobs; ++i) {
    const std::string id = *name, user = *name, model = *name, type = *name, group = *name;
    const auto task = *rc::gen::inRange<std::int64_t>(1, 9);
    const auto most = kJobGpusMax / task;
    const auto gpus = *rc::gen::inRange<std::int64_t>(1, most + 1);
    const JobRow row = {.id = id,
                        .user = user,
                        .model = model,
                        .gpus = gpus * task,
                        .gpus_min = *rc::gen::inRange<std::int64_t>(1, gpus + 1) * task,
                        .gpus_max = *rc::gen::inRange<std::int64_t>(gpus, most + 1) * task,
                        .task_gpus = task,
                        .asks = {{*rc::gen::inRange<std::int64_t>(0, kThousandthsMax)},
                                 {*rc::gen::inRange<std::int64_t>(0, 3)}},
                        // Later ones are Unix times.
                        .submit = {*rc::gen::inRange<std::int64_t>(0, kYear2000.ms)},
                        .duration = {*rc::gen::inRange<std::int64_t>(1, kMsMax)},
                        .gpu_type = type,
                        .tickets = *rc::gen::inRange<std::int64_t>(0, 4),
                        .group = group,
                        .group_tickets = *rc::gen::inRange<std::int64_t>(0, 4),
                        .group_quota = *rc::gen::inRange<std::int64_t>(0, 4)};
    RC_ASSERT(builder.add(row, "f").has_value());
  }
  const Workload workload = builder.finish();
  const auto again = read_text(native_text(workload), {});
  RC_ASSERT(again.has_value());
  expect_equal(workload, *again);
  RC_ASSERT(!::testing::Test::HasFailure());
}

TEST(WriteNative, KeepsWhatALogSays) {
  const std::string text =
      "job,user,model,gpus,submit_s,duration_s,time_limit_s,priority,partition,start_s\n"
      "a,u,,4,5,10,3600.5,-7,gpu,65.25\n"
      "b,u,,1,5,1,,,,\n"
      "c,u,,1,5,1,,,\"x,y\",5\n";
  EXPECT_EQ(native_text(*read_text(text, {})), text);
}

TEST(WriteNative, KeepsHowJobsEnded) {
  const std::string text =
      "job,user,model,gpus,submit_s,duration_s,state\na,u,,4,0,10,FAILED\nb,u,,1,0,1,\n";
  EXPECT_EQ(native_text(*read_text(text, {})), text);
}

}  // namespace
}  // namespace fairlead
