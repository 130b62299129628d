#include "fairlead/model/workload.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace fairlead {
namespace {

JobRow row(std::string_view id) { return {.id = id, .gpus = 2, .duration = milliseconds(5)}; }

// The message of a strict builder for one row.
std::string error_of(const JobRow& bad) {
  WorkloadBuilder builder("w", Reading::kStrict);
  const Status status = builder.add(bad, Where("f", 3, 1));
  return status ? "" : status.error().message;
}

// All columns of a row.
struct RowText {
  void operator()(const char* name, std::string_view field, const JobRow::Column&) {
    text += fmt::format("{}={} ", name, field);
  }
  void operator()(const char* name, std::int64_t field, const JobRow::Column&) {
    text += fmt::format("{}={} ", name, field);
  }
  void operator()(const char* name, Thousandths field, const JobRow::Column&) {
    text += fmt::format("{}={} ", name, field.value);
  }
  void operator()(const char* name, auto field, const JobRow::Column&) {
    text += fmt::format("{}={} ", name, field.ms);
  }
  void extra(const char* name, auto field, const auto&) {
    text += fmt::format("{}={} ", name, field);
  }
  std::string text;
};

std::string text_of(const JobRow& row) {
  RowText visit;
  JobRow::fields(row, visit);
  return visit.text;
}

TEST(WorkloadBuilder, KeepsRowsInOrder) {
  WorkloadBuilder builder("w", Reading::kStrict);
  EXPECT_TRUE(builder.add({.id = "a",
                           .user = "ann",
                           .model = "VAE",
                           .gpus = 4,
                           .gpus_min = 1,
                           .gpus_max = 8,
                           .submit = {7},
                           .duration = milliseconds(9),
                           .gpu_type = "V100"},
                          "f"));
  EXPECT_TRUE(builder.add({.id = "b", .gpus = 2, .duration = milliseconds(1)}, "f"));
  EXPECT_TRUE(builder.add({.id = "c", .user = "ann", .duration = milliseconds(1)}, "f"));
  const Workload workload = builder.finish();
  const JobId a(0), b(1), c(2);
  EXPECT_EQ(workload.name, "w");
  EXPECT_EQ(workload.jobs.size(), 3u);
  EXPECT_EQ(workload.names[b], "b");
  EXPECT_EQ(workload.users.names[workload.jobs.user[a]], "ann");
  EXPECT_EQ(workload.users.names[workload.jobs.user[b]], "default");
  EXPECT_EQ(workload.jobs.user[c], workload.jobs.user[a]);
  EXPECT_EQ(workload.models[workload.jobs.model[a]], "VAE");
  EXPECT_TRUE(workload.jobs.model[b].is_none());
  EXPECT_EQ(workload.jobs.gpus_min[a], 1u);
  EXPECT_EQ(workload.jobs.gpus_max[a], 8u);
  EXPECT_EQ(workload.jobs.gpus_min[b], 2u);
  EXPECT_EQ(workload.jobs.gpus_max[b], 2u);
  EXPECT_EQ(workload.jobs.arrival[a], Time{7});
  EXPECT_EQ(workload.durations[a], milliseconds(9));
  EXPECT_EQ(workload.reference_types[a], "V100");
  EXPECT_EQ(workload.rows.rows_read, 3);
}

TEST(WorkloadBuilder, StrictErrorsNameTheFieldAndItsValue) {
  EXPECT_EQ(error_of(row("a")), "");
  JobRow bad = row("");
  EXPECT_EQ(error_of(bad), "f:3:1: job id must not be empty");
  bad = row("a");
  bad.gpus = 0;
  bad.columns.gpus = 12;
  EXPECT_EQ(error_of(bad), "f:3:12: gpus must be from 1 to 1000000: 0");
  bad.gpus = kJobGpusMax + 1;
  EXPECT_EQ(error_of(bad), "f:3:12: gpus must be from 1 to 1000000: 1000001");
  bad = row("a");
  bad.gpus_min = 3;
  EXPECT_EQ(error_of(bad), "f:3:1: gpus_min must be from 1 to gpus: 3");
  bad = row("a");
  bad.gpus_max = 1;
  EXPECT_EQ(error_of(bad), "f:3:1: gpus_max must be from gpus to 1000000: 1");
  bad = row("a");
  bad.task_gpus = 3;
  EXPECT_EQ(error_of(bad), "f:3:1: task_gpus must divide gpus, gpus_min and gpus_max: 3");
  bad.task_gpus = 0;
  EXPECT_EQ(error_of(bad), "f:3:1: task_gpus must divide gpus, gpus_min and gpus_max: 0");
  bad.task_gpus = 2;
  bad.gpus_min = 1;
  EXPECT_EQ(error_of(bad), "f:3:1: task_gpus must divide gpus, gpus_min and gpus_max: 2");
  bad = row("a");
  bad.submit.ms = -1;
  EXPECT_EQ(error_of(bad), "f:3:1: submission must be from 0 to 100 years: -1 ms");
  bad = row("a");
  bad.duration.ms = 0;
  EXPECT_EQ(error_of(bad), "f:3:1: duration must be from 1 ms to 100 years: 0 ms");
  bad.duration.ms = kMsMax + 1;
  EXPECT_EQ(error_of(bad), "f:3:1: duration must be from 1 ms to 100 years: 3162240000001 ms");
  bad = row("a");
  bad.tickets = kTicketsMax + 1;
  EXPECT_EQ(error_of(bad), "f:3:1: tickets must be from 1 to 1000000: 1000001");
}

TEST(WorkloadBuilder, LenientReadingCountsBadRowsByReason) {
  WorkloadBuilder builder("w", Reading::kLenient);
  JobRow bad = row("a");
  bad.user = "ghost";
  bad.duration.ms = 0;
  EXPECT_TRUE(builder.add(bad, "f"));
  EXPECT_TRUE(builder.add(bad, "f"));
  EXPECT_TRUE(builder.reject("odd", "f", "x"));
  builder.skip("no GPU");
  EXPECT_TRUE(builder.add(row("a"), "f"));
  const Workload workload = builder.finish();
  EXPECT_EQ(workload.rows.rows_read, 5);
  EXPECT_EQ(workload.rows.rejected(), 4);
  EXPECT_EQ(workload.rows.rows_rejected.at("duration must be from 1 ms to 100 years"), 2);
  EXPECT_EQ(workload.rows.rows_rejected.at("odd"), 1);
  EXPECT_EQ(workload.rows.rows_rejected.at("no GPU"), 1);
  // A rejected row makes no user.
  EXPECT_EQ(workload.users.size(), 1u);
}

TEST(WorkloadBuilder, ASecondJobOfOneIdIsAnErrorInStrictReading) {
  WorkloadBuilder builder("w", Reading::kStrict);
  EXPECT_TRUE(builder.add(row("a"), Where("f", 2)));
  EXPECT_EQ(builder.add(row("a"), Where("f", 3)).error().message,
            "f:3: this job id occurred before: a");
}

TEST(WorkloadBuilder, LenientReadingRenamesIdsThatOccurredBefore) {
  WorkloadBuilder builder("w", Reading::kLenient);
  for (const char* id : {"a", "a", "b", "a#3", "a", "b"}) EXPECT_TRUE(builder.add(row(id), "f"));
  const Workload workload = builder.finish();
  std::vector<std::string> names;
  for (const JobId job : ids<JobId>(6)) names.emplace_back(workload.names[job]);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a#2", "b", "a#3", "a#4", "b#2"}));
  EXPECT_EQ(workload.rows.rows_repaired.at("duplicate id renamed"), 3);
}

TEST(WorkloadBuilder, TicketsAreOneUnlessNamed) {
  WorkloadBuilder builder("w", Reading::kStrict);
  JobRow ann = row("1");
  ann.user = "ann";
  EXPECT_TRUE(builder.add(ann, "f"));
  ann.id = "2";
  ann.tickets = 5;
  EXPECT_TRUE(builder.add(ann, "f"));
  ann.id = "3";
  ann.tickets = 0;
  EXPECT_TRUE(builder.add(ann, "f"));
  EXPECT_TRUE(builder.add(row("4"), "f"));
  ann.id = "5";
  ann.tickets = 4;
  EXPECT_EQ(builder.add(ann, Where("f", 9)).error().message,
            "f:9: tickets must be the same in all rows of a user: 4 after 5");
  const Workload workload = builder.finish();
  EXPECT_EQ(workload.users.tickets[UserId(0)], 5);
  EXPECT_EQ(workload.users.tickets[UserId(1)], 1);
}

TEST(WorkloadBuilder, CountsRepairsOnlyOfRowsThatAreKept) {
  WorkloadBuilder builder("w", Reading::kLenient);
  JobRow repaired = row("a");
  repaired.repaired = "rounded";
  EXPECT_TRUE(builder.add(repaired, "f"));
  repaired.duration.ms = 0;
  EXPECT_TRUE(builder.add(repaired, "f"));
  EXPECT_EQ(builder.finish().rows.rows_repaired.at("rounded"), 1);
}

TEST(WorkloadBuilder, StartAtZeroMovesAllArrivals) {
  WorkloadBuilder builder("w", Reading::kStrict);
  JobRow later = row("a");
  later.submit.ms = 1500;
  EXPECT_TRUE(builder.add(later, "f"));
  later.id = "b";
  later.submit.ms = 1000;
  EXPECT_TRUE(builder.add(later, "f"));
  builder.start_at_zero();
  const Workload workload = builder.finish();
  EXPECT_EQ(workload.jobs.arrival[JobId(0)], Time{500});
  EXPECT_EQ(workload.jobs.arrival[JobId(1)], Time{0});
}

TEST(WorkloadBuilder, StartAtZeroMovesStartsToo) {
  WorkloadBuilder builder("w", Reading::kStrict);
  JobRow late = row("a");
  late.submit = {1'000'000};
  late.logged.start = {1'060'000};
  ASSERT_TRUE(builder.add(late, "f").has_value());
  builder.start_at_zero();
  EXPECT_EQ(builder.finish().jobs.logged_of(JobId(0)).start, Time{60'000});
}

TEST(WorkloadBuilder, AnEmptyTraceIsAWorkload) {
  WorkloadBuilder builder("w", Reading::kStrict);
  builder.start_at_zero();
  EXPECT_EQ(builder.finish().jobs.size(), 0u);
}

TEST(WorkloadBuilder, KeepsWhatALogSaysOfJobs) {
  WorkloadBuilder builder("w", Reading::kStrict);
  JobRow logged = row("a");
  logged.submit = {1'000};
  logged.logged = {seconds(60), -3, {1'500}};
  logged.partition = "gpu";
  ASSERT_TRUE(builder.add(row("first"), "f").has_value());
  ASSERT_TRUE(builder.add(logged, "f").has_value());
  logged.id = "b";
  logged.logged.start = Time::never();
  ASSERT_TRUE(builder.add(logged, "f").has_value());
  ASSERT_TRUE(builder.add(row("last"), "f").has_value());
  const Jobs jobs = builder.finish().jobs;
  const Logged expected{seconds(60), -3, {1'500}};
  EXPECT_EQ(jobs.logged_of(JobId(1)), expected);
  EXPECT_EQ(jobs.partition_name(JobId(2)), "gpu");
  EXPECT_EQ(jobs.logged_of(JobId(2)).start, Time::never());
  EXPECT_EQ(jobs.logged_of(JobId(0)), Logged());
  EXPECT_EQ(jobs.logged_of(JobId(3)), Logged());
  EXPECT_EQ(jobs.partitions.size(), 1U);
}

TEST(WorkloadBuilder, AStartBeforeTheSubmissionIsAnErrorOrLeftOut) {
  JobRow early = row("a");
  early.submit = {1'000};
  early.logged.start = {999};
  early.columns.start = 7;
  WorkloadBuilder strict("w", Reading::kStrict);
  EXPECT_EQ(strict.add(early, Where("f", 2)).error().message,
            "f:2:7: start must be from the submission to 100 years: 999 ms");
  WorkloadBuilder lenient("w", Reading::kLenient);
  ASSERT_TRUE(lenient.add(early, "f").has_value());
  const Workload workload = lenient.finish();
  EXPECT_EQ(workload.jobs.logged_of(JobId(0)), Logged());
  EXPECT_EQ(workload.rows.rows_repaired.at("start before the submission left out"), 1);
}

TEST(WorkloadBuilder, LimitsAndPrioritiesAreChecked) {
  WorkloadBuilder builder("w", Reading::kStrict);
  JobRow bad = row("a");
  bad.logged.time_limit = {kMsMax + 1};
  EXPECT_NE(builder.add(bad, "f").error().message.find("time limit must be"), std::string::npos);
  bad.logged.time_limit = {};
  bad.logged.priority = kPriorityMax + 1;
  EXPECT_NE(builder.add(bad, "f").error().message.find("priority must be"), std::string::npos);
}

TEST(WorkloadBuilder, ExtrasAreChecked) {
  JobRow bad = row("a");
  bad.extras.copies_max = kCopiesMax + 1;
  EXPECT_EQ(error_of(bad), "f:3:1: copies_max must be from 1 to 65535: 65536");
}

TEST(Workload, GivesTheRowOfEachJobAgain) {
  const JobRow all = {.id = "a",
                      .user = "ann",
                      .model = "VAE",
                      .gpus = 4,
                      .gpus_min = 2,
                      .gpus_max = 8,
                      .task_gpus = 2,
                      .asks = {{1'500}, {2}},
                      .extras = {.copies_max = 3},
                      .submit = {7},
                      .duration = milliseconds(9),
                      .gpu_type = "V100",
                      .runs_on = "V100+K80",
                      .require_level = "rack",
                      .prefer_level = "host",
                      .tickets = 5,
                      .group = "g",
                      .group_tickets = 6,
                      .group_quota = 7,
                      .logged = {seconds(1), 2, {8}},
                      .partition = "gpu",
                      .state = "FAILED"};
  WorkloadBuilder builder("w", Reading::kStrict);
  ASSERT_TRUE(builder.add(row("first"), "f"));
  ASSERT_TRUE(builder.add(all, "f"));
  const Workload workload = builder.finish();
  const JobRow again = row_of(workload, JobId(1));
  EXPECT_EQ(text_of(again), text_of(all));
  EXPECT_NE(text_of(again), text_of(row_of(workload, JobId(0))));
}

TEST(Where, SaysWhatIsKnown) {
  EXPECT_EQ(Where("f").text(), "f");
  EXPECT_EQ(Where("f", 2).text(), "f:2");
  EXPECT_EQ(Where("f", 2, 3).text(), "f:2:3");
}

RC_GTEST_PROP(WorkloadBuilder, IdsAreUniqueWhateverIsRead, ()) {
  const auto ids_read = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a", "b", "a#2", "a#3", "b#2", "a#2#2"));
  WorkloadBuilder builder("w", Reading::kLenient);
  for (const std::string& id : ids_read) RC_ASSERT(builder.add(row(id), "f").has_value());
  const Workload workload = builder.finish();
  std::set<std::string, std::less<>> seen;
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    RC_ASSERT(seen.emplace(workload.names[job]).second);
  }
  RC_ASSERT(seen.size() == ids_read.size());
}

TEST(NameIndex, TellsApartNamesOfOneHash) {
  NameIndex index;
  for (std::uint32_t row = 0; row < 1000; ++row) index.insert(row % 7, row);
  for (std::uint32_t row = 0; row < 1000; ++row)
    EXPECT_EQ(index.find(row % 7, [&](std::uint32_t other) { return other == row; }), row);
  EXPECT_EQ(index.find(3, [](std::uint32_t) { return false; }), NameIndex::kNone);
  EXPECT_EQ(NameIndex().find(3, [](std::uint32_t) { return true; }), NameIndex::kNone);
}

}  // namespace
}  // namespace fairlead
