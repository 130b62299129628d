// Every reader of records is right for the records of a run in an open world, under every policy.

#include "fairlead/journal/checked_journal.h"
#include "fairlead/metrics/metrics.h"
#include "fairlead/metrics/window_fairness.h"
#include "fairlead/replay/decisions.h"
#include "fairlead/replay/recorded_world.h"
#include "fairlead/report/journal_dump.h"
#include "fairlead/report/json.h"
#include "fairlead/report/report_data.h"
#include "testing/property.h"
#include "testing/world.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace fairlead {
namespace {

// Without tasks and levels, for which most jobs would be refused.
constexpr Ingredients kOpen = {.tasks = false, .levels = false, .faults = true, .unreliable = true};
constexpr double kRounding = 1e-9;

// All outputs of a report and an experiment from one run.
struct Readers : RecordSink {
  void on(const Record& record) override {
    for (RecordSink* sink : std::initializer_list<RecordSink*>{&metrics, &windows, &records,
                                                               &recorder, &decisions, &dump}) {
      sink->on(record);
    }
  }

  Metrics metrics;
  WindowFairness windows{{.windows = {seconds(60), seconds(600)}, .step = seconds(20), .quantum{}}};
  RunRecords records;
  WorldRecorder recorder;
  std::size_t decided = 0;
  DecisionReader decisions{[this](const Decision&) { ++decided; }};
  std::size_t dumped = 0;
  JournalDump dump{JournalDump::Form::kCsv,
                   [this](std::string_view text) { dumped += text.size(); }};
};

std::string page_data(const RunRecords& records, const Summary& summary) {
  std::string text;
  ReportData data([&](std::string_view piece) { text += piece; }, "");
  const nlohmann::json figures = nlohmann::json::parse(summary_json(summary));
  const Status status =
      data.add({.folder = "a", .label = "a", .summary = figures, .records = records});
  if (!status) return status.error().message;
  data.finish();
  return text;
}

std::string wrong_in_summary(const Summary& summary, std::size_t jobs) {
  if (summary.jobs_read != static_cast<std::int64_t>(jobs)) return "jobs are lost or made up";
  if (summary.finished + summary.failed + summary.rejected + summary.pending != summary.jobs_read) {
    return "the jobs do not add up";
  }
  if (summary.gpu_utilization.value_or(0) > 1 + kRounding) return "more is allocated than there is";
  const double capacity_h =
      summary.gpu_utilization.value_or(0) > 0 ? summary.gpu_hours / *summary.gpu_utilization : 0;
  std::int64_t of_users = 0;
  double allocated_h = 0;
  double entitled_h = 0;
  for (const UserSummary& user : summary.users) {
    of_users += user.jobs;
    allocated_h += user.gpu_hours;
    entitled_h += user.entitled_gpu_hours;
  }
  if (of_users != summary.jobs_read) return "the users' jobs do not add up";
  if (std::abs(allocated_h - summary.gpu_hours) > kRounding)
    return "the users' GPU time does not add up";
  if (capacity_h > 0 && entitled_h > capacity_h * (1 + kRounding)) {
    return "users are entitled to more than there is";
  }
  if (summary.open_world.held > summary.pending) return "more jobs are held than are pending";
  return "";
}

std::string wrong_in_load(const RunLoad& load) {
  for (std::size_t bin = 0; bin < load.gpus_allocated.size(); ++bin) {
    if (load.gpus_allocated[bin] > load.gpus_up[bin] + 1e-6)
      return "more GPUs are allocated than are up";
    if (load.gpus_fragmented[bin] < -1e-6 ||
        load.gpus_allocated[bin] + load.gpus_fragmented[bin] > load.gpus_up[bin] + 1e-6) {
      return "more GPUs are allocated and beside gangs than are up";
    }
    if (load.jobs_running[bin] < -1e-6 || load.jobs_waiting[bin] < -1e-6)
      return "fewer than no job";
  }
  return "";
}

std::string wrong_in_windows(const WindowFairness& windows) {
  if (windows.idle_when_wanted() < 0 || windows.idle_when_wanted() > 1) return "idle time";
  for (const WindowFigures& figures : windows.windows()) {
    if (figures.steady.count > figures.all.count) return "steady windows";
    if (figures.all.mean > figures.all.largest + kRounding) return "the mean of the errors";
  }
  return "";
}

TEST(OpenSinks, WhatARunWritesIsMeasuredAndReadBack) {
  const auto path = std::filesystem::path(testing::TempDir()) / "fairlead_open_sinks.flj";
  const auto property = [&](const World& world, const std::string& policy) -> std::string {
    auto file = JournalFile::create(path);
    if (!file) return file.error().message;
    Readers seen;
    Tee tee({&seen, &*file});
    const Outcome outcome = run(world, policy_named(policy, world.seed), {}, &tee);
    if (!outcome.problems.empty()) return outcome.problems.front();
    if (const Status closed = file->close(); !closed) return closed.error().message;
    const Summary summary = seen.metrics.summary({});
    for (const std::string& wrong :
         {wrong_in_summary(summary, world.jobs.size()),
          // If the first job is refused, the bins of the page begin at its submission, but the bins
          // of the timeline at the first arrival. Means over both then differ a little.
          summary.rejected > 0 ? std::string() : wrong_in_load(seen.records.load()),
          wrong_in_windows(seen.windows)}) {
      if (!wrong.empty()) return wrong;
    }
    if (summary.gpu_hours > 0 && world.settings.unreliable.any() &&
        seen.recorder.world().has_value()) {
      return "a world that is not exact is replayed";
    }

    Readers read;
    const auto end = read_checked_journal(path, read);
    if (!end) return end.error().message;
    if (!(read.metrics.summary({}) == summary)) return "another summary is read back";
    if (read.decided != seen.decided || read.dumped != seen.dumped) return "other records are";
    const std::string page = page_data(seen.records, summary);
    if (!nlohmann::json::accept(page)) return page;
    return page == page_data(read.records, summary) ? "" : "another page is read back";
  };
  EXPECT_EQ(broken("OpenSinks", policy_variants(), kOpen, property), "");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace fairlead
