// The figures of a published experiment, measured from the folders of its runs.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/experiment/experiment.h"
#include "fairlead/metrics/window_fairness.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

// What the claims of an experiment need of a run beside its summary.
struct RunQuestions {
  Duration quantum;
  std::vector<Duration> windows;  // of fairness, and of the other figures of WindowFairness
  std::int64_t quanta = 0;        // of a schedule
  bool job_times = false;         // of jobs.csv, not of the journal

  bool any_of_journal() const { return !windows.empty() || quanta > 0; }
};
RunQuestions run_questions(const Experiment& experiment);

// One run as far as the figures need it. (Moving JSON does not throw, though clang-tidy thinks so.)
struct RunFigures {  // NOLINT(bugprone-exception-escape)
  nlohmann::json summary;
  std::vector<WindowFigures> windows;
  double idle_when_wanted = 0;
  double migrations_per_hour = 0;
  std::vector<std::optional<double>> jct_h;  // by position in the trace; none: not finished
  std::vector<std::string> schedule;         // jobs by quantum
  std::map<std::string, std::vector<std::string>> passes;  // of jobs, by quantum
};

// Reads summary.json and, where the questions need them, jobs.csv and the journal. Errors
// (Error::Kind::kRun): a file is missing or damaged.
Result<RunFigures> read_run(const std::filesystem::path& folder, const RunQuestions& questions);

// A number, or a text.
struct Value {
  double number = 0;
  std::string text;
  std::string where;  // it was largest: "ann, the 8 h up to 26.5 h"; empty where that means nothing
};

// `against` is null unless the claim names one. Error: the run has no such figure.
// REQUIRES: the figure is not a fluid one.
Result<Value> measure(const PublishedClaim& claim, const RunFigures& run,
                      const RunFigures* against);

// What trading gives `user`, in percent of its throughput without, if GPUs are a fluid and all
// users want more than they are entitled to. REQUIRES: the workload has users, that one among them.
Result<double> fluid_gain(const Case& one, const std::vector<std::string>& settings,
                          const PublishedClaim& claim);

}  // namespace fairlead
