// The figures for claims of an experiment: their meaning, and how they are measured from the folder of a run.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/experiment/experiment.h"
#include "fairlead/metrics/window_fairness.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The data that an experiment's claims need from a run beside its summary.
struct RunQuestions {
  Duration quantum;
  std::vector<Duration> windows;  // for fairness, and for the other figures of WindowFairness
  std::set<Received> received;    // the kinds of received GPU time in them
  std::int64_t quanta = 0;        // number of quanta of a schedule
  bool job_times = false;         // jobs.csv is needed, not only the journal

  bool any_of_journal() const { return !windows.empty() || quanta > 0; }
};
RunQuestions run_questions(const Experiment& experiment);

struct UserWork {
  std::string user;
  double gpu_hours = 0;  // work_gpu_hours of summary.json
};

// Parses the value of `of`: "held", "useful", "effective"; any other: nothing.
std::optional<Received> received_named(std::string_view name);

// The data of one run that the figures need.
struct RunFigures {
  std::map<std::string, double, std::less<>> summary;      // by key; only meaningful ones
  std::vector<UserWork> users;                             // in the order of the trace
  std::map<Received, std::vector<WindowFigures>> windows;  // only the requested ones
  double idle_when_wanted = 0;
  double migrations_per_hour = 0;
  std::vector<std::optional<double>> jct_h;  // hours, by position in the trace; none: not finished
  std::vector<std::string> job_users;        // by position in the trace
  std::vector<std::string> schedule;         // jobs by quantum
  std::map<std::string, std::vector<std::string>> passes;  // passes of each job, by quantum
};

// Reads summary.json and, where the questions need them, jobs.csv and the journal. Errors
// (Error::Kind::kRun): a file is missing or damaged.
Result<RunFigures> read_run(const std::filesystem::path& folder, const RunQuestions& questions);

// A number, or a text.
struct Value {
  double number = 0;
  std::string text;
  std::string
      where;  // place of the largest value: "ann, the 8 h up to 26.5 h"; empty if not applicable
  // The best value of the figure under any policy in place of the claim's own: by the lower bounds of the run, which
  // hold for any. None: no bound is known.
  std::optional<double> possible{};
};

// A value for a claim's `figure`, and the keys that it takes beside `policy`.
struct ClaimFigure {
  enum class Source : std::uint8_t {
    kSummary,
    kJobTimes,
    kWindows,   // fairness over windows, computed from the journal
    kQuanta,    // the running jobs of each quantum, from the journal; a text
    kWorkload,  // by calculation, without a run
  };
  std::string_view name;
  std::string_view unit;  // "" for none
  int decimals;           // shown
  Source source;
  std::string_view required;  // keys, separated by blanks
  std::string_view optional;
  std::string_view help;
  // Null if it needs no run. `against` is null unless the claim names one. Error: the run lacks the figure.
  Result<Value> (*measure)(const PublishedClaim& claim, const RunFigures& run,
                           const RunFigures* against);

  bool is_text() const { return source == Source::kQuanta; }
  bool needs_run() const { return source != Source::kWorkload; }
  // Returns whether a claim with this figure must have the key.
  bool requires_key(std::string_view key) const;
  bool takes_key(std::string_view key) const;
};
// Returns all figures in the order of lists.
std::span<const ClaimFigure> claim_figures();
// Returns null if there is none of this name.
const ClaimFigure* find_claim_figure(std::string_view name);

// Returns the gain of `user` from trading, in percent of its throughput without, if GPUs are a fluid and all users want
// more than they are entitled to. REQUIRES: the workload has users, including that one.
Result<double> fluid_gain(const Case& one, const std::vector<std::string>& settings,
                          const PublishedClaim& claim);

}  // namespace fairlead
