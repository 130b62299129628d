// A small run for `fairlead why`: a cluster, a few jobs, a policy; and the explanation for a job.
#pragma once

#include "fairlead/cli/why_text.h"
#include "testing/racks.h"
#include "testing/steps.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace fairlead {

struct SituationJob {  // a job that asks for GPUs
  std::int64_t gpus = 1;
  std::int64_t submit_s = 0;
  std::int64_t work_s = 100;
  std::string user = "ann";
  std::string group{};
  std::int64_t group_quota = 0;
};

struct Situation {
  std::string cluster = "1xV100:4";
  std::vector<SituationJob> jobs;  // j0, j1, ...
  std::string policy = "fifo";
  Settings settings{.costs = Costs::none()};
  std::int64_t until_s = 1'000'000;
};

// Writes the journal of the run, under `policy` if it is not null, into a folder of the test's own. REQUIRES: it
// is valid.
inline std::string recorded(const Situation& situation, std::unique_ptr<Policy> policy = nullptr) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("why_{}", test->name());
  std::filesystem::create_directories(folder);
  SimulationInputs inputs{.cluster = cluster_of(situation.cluster).value(),
                          .trace = Trace(numbered_jobs(situation.jobs,
                                                       [](JobRow& row, const SituationJob& job) {
                                                         row.user = job.user;
                                                         row.group = job.group;
                                                         row.group_quota = job.group_quota;
                                                         row.gpus = job.gpus;
                                                         row.submit = {job.submit_s * 1000};
                                                         row.duration = seconds(job.work_s);
                                                       })),
                          .settings = situation.settings,
                          .seed = 3,
                          .until = {situation.until_s * 1000}};
  JournalFile journal = JournalFile::create(folder / kJournalName).value();
  if (policy == nullptr) {
    run_policy(std::move(inputs), situation.policy, {&journal});
  } else {
    inputs.policy = std::move(policy);
    Simulation simulation = Simulation::make(std::move(inputs)).value();
    simulation.add_sink(journal);
    FL_CHECK(simulation.run().has_value());
  }
  FL_CHECK(journal.close().has_value());
  return folder.string();
}

inline JobWhy why(const Situation& situation, const std::string& job) {
  Result<JobWhy> found = why_job(recorded(situation), job);
  FL_CHECK(found.has_value(), "{}", found.error().message);
  return std::move(*found);
}

// Returns the causes of a job's waits, by their numbers: "passed 90s".
inline std::string causes(const JobWhy& why) {
  std::string text;
  const CauseTimes& causes = why.waits->jobs().front().causes;
  for (std::size_t i = 0; i < kWhyCauses; ++i) {
    const auto cause = static_cast<WhyCause>(i);
    if (causes.of(cause).ms == 0) continue;
    text += fmt::format("{}{} {}s", text.empty() ? "" : ", ", why_cause_info(cause).name,
                        to_seconds(causes.of(cause)));
  }
  return text;
}

}  // namespace fairlead
