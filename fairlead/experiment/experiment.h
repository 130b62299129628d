// A published experiment as a data file: its runs, and the claims about them.
//
// Every key that is not marked required may be left out; unknown keys are errors.
//
//   title: one line                      # required
//   source: where it was published       # required
//   question: one or two sentences       # required
//   setup: our choices, if the publication gives no value
//   misses: why expected values are missed, and which run shows the cause
//   cluster: slides                      # as --cluster; required here or in every case
//   workload: {...}                      # see workload.h
//   iterations: {...}                    # instead of workload; see iterations.h
//   policies: {fair: gandiva-fair}       # by label; none where no figure needs a run
//   seeds: 3                             # runs of each policy, with seeds 1, 2, 3 (default: 1); more
//                                        # where the interval of a judged figure is wide
//   kind: number                         # of the claims: see ClaimKind (default: target)
//   until_h: 24                          # (default: to the end)
//   quantum_s: 60                        # time slice of the policies, for the figures that need it
//   settings: {costs: none}              # as --set; models may be a public file below
//                                        # $FAIRLEAD_SHARED, as in "shared:data/profiles/x.csv"
//   cases:                               # the experiment repeated; a row of the table for each
//     - label: 128 K80                   # required
//       cluster: slides                  # these replace the experiment's; policies by label,
//       models: [VAE, DCGAN]             # the models of the workload's users, in order;
//       settings: {congestion: rack:4}   # settings come on top of the experiment's
//   claims:                              # in each case; required unless there are measures
//     - claim: one sentence              # required
//       column: short title of its column, where there are cases
//       source: where exactly it was claimed
//       kind: statement                  # (default: the experiment's)
//       figure: gain                     # required: see claim_figures(), with the keys that it takes
//       policy: trade                    # a label, such as the only one there is (default)
//       against: no-trade
//       against_case: 128 K80            # of that case, not of the same one
//       user: user-1
//       expect: 30                       # with tolerance; `fluid`: what trading among the
//       tolerance: 3                     # workload's users would give with fluid GPUs; a text for
//                                        # figures that are texts
//       tolerance_percent: 10            # of the expected value, instead of tolerance
//       at_least: 10                     # or at_most; each of expect, at_least and at_most is one
//                                        # value or a list with one for each case, null where
//                                        # nothing is expected; none: measured
//       over_cases: true                 # judge all cases together, not each: by the means over the
//                                        # cases of the figures of summary.json
//   measures:                            # columns of the table of all runs for each policy: figures
//     - column: makespan                 # required; and the keys of a claim that its figure takes,
//       figure: summary_h                # but not policy and against
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/experiment/workload.h"
#include "fairlead/iteration/jobs.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {

struct ClaimFigure;  // experiment/figures.h

enum class Bound : std::uint8_t {
  kNone,   // nothing is expected
  kEqual,  // within the tolerance
  kAtLeast,
  kAtMost,
  kFluid,  // the user's gain in the fluid calculation, within the tolerance
  kText,   // equal to the text
};

// The source of an expected value.
enum class ClaimKind : std::uint8_t {
  kNumber,     // published
  kStatement,  // published without a number
  kTarget,     // ours
  kIdentity,   // the scheduler against a calculation of the same
};
struct ClaimKindWords {
  std::string_view name;  // in files
  std::string_view plural;
};
// By ClaimKind.
constexpr std::array<ClaimKindWords, 4> kClaimKinds = {{{"number", "published numbers"},
                                                        {"statement", "published statements"},
                                                        {"target", "our targets"},
                                                        {"identity", "identities"}}};

struct PublishedClaim {
  std::string text;
  std::string column;
  std::string source;
  ClaimKind kind = ClaimKind::kTarget;
  const ClaimFigure* figure = nullptr;
  std::string policy;  // labels; empty if the figure needs no run
  std::string against;
  std::optional<std::size_t> against_case;  // its row; none: the same
  std::string user;
  std::string key;  // key in summary.json, for example "fairness/jain"
  std::string job;
  std::string price = "slides";  // price rule of the fluid calculation
  double window_h = 1;
  std::string received = "held";  // the received GPU time in windows; the key `of`
  std::int64_t quanta = 0;        // number of quanta of a schedule
  // Positions in the trace of a mean JCT, from 1.
  std::int64_t first_job = 0;
  std::int64_t last_job = 0;

  Bound bound = Bound::kNone;
  std::vector<std::optional<double>> expected;  // one, or one for each case; none: only measured
  std::string expected_text;
  double tolerance = 0;
  double tolerance_percent = 0;  // percent of the expected value; 0: `tolerance`
  bool over_cases = false;
  bool is_measure = false;  // one of `measures`, with a policy

  std::optional<double> expected_in(std::size_t i) const {
    if (expected.empty()) return std::nullopt;
    return expected[expected.size() == 1 ? 0 : i];
  }
};

using Policies = std::vector<std::pair<std::string, std::string>>;  // label and policy, in order

struct Case {
  std::string label;  // empty: the experiment has no cases
  std::string cluster;
  WorkloadSpec workload;
  Policies policies;
  std::vector<std::string> settings;  // "key=value", as written; see run_settings
};

struct Experiment {
  std::string name;
  std::string title;
  std::string source;
  std::string question;
  std::string setup;
  std::string misses;
  std::int64_t seeds = 1;
  ClaimKind kind = ClaimKind::kTarget;  // default of its claims
  double until_h = 0;                   // 0: to the end
  Duration quantum;
  std::optional<IterationOptions> iterations;  // instead of the cases' workloads
  std::vector<Case> cases;                     // at least one; all with the same labels of policies
  std::vector<PublishedClaim> claims;  // then the measures, for each of them all policies in order
};

// Reads the experiment `name` from the text of `file`. Checks everything that needs no run: policies, clusters,
// settings, labels, figures. Errors give the position.
Result<Experiment> read_experiment(std::string_view text, std::string_view file,
                                   std::string_view name);

// Returns the settings in the form for a run: public files as paths.
std::vector<std::string> run_settings(const Case& one);
// Returns the public file of models that is missing here, by its path below $FAIRLEAD_SHARED; empty: none.
std::string missing_models(const Case& one);

// The experiments that are part of the binary (data/experiments/*.yaml), by name.
struct ExperimentTitle {
  std::string name;
  std::string title;
};
std::vector<ExperimentTitle> builtin_experiments();

// Loads an experiment. `spec` is the name of a built-in one, or the path of a file.
Result<Experiment> load_experiment(const std::string& spec);

}  // namespace fairlead
