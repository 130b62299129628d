// DecisionBudget: how much a policy may examine in one decision, in evaluations instead of time, so that recovery and
// replay repeat it.
//
// An evaluation is one search for a place for a waiting job. A policy asks before each search, in its order of
// importance (Plan::examine). When the budget is used up, the decision is cut: jobs that it has not examined yet count as
// jobs without a place. The decision ends with its results so far. Further searches for
// an examined job are counted and not refused, so a decision may exceed its budget by those. Jobs that run are neither counted nor refused: a cut stops no gang, and
// their number is bounded by the GPUs.
//
// A pass is a decision and, after a cut, the decisions that continue it. The engine asks for the next of them at once
// (end()). Each passes over the jobs that an earlier decision of the pass has examined. So each examines others, and the
// pass comes to an end, with any budget. If other events came during the pass, jobs that were passed over may have a
// place by now: another pass follows.
//
// O(1) per call; a copy: O(jobs of the run).
#pragma once

#include "fairlead/base/ids.h"

#include <cstdint>
#include <vector>

namespace fairlead {

class Archive;  // base/archive.h

class DecisionBudget {
 public:
  // `evaluations` per decision; 0: no limit.
  explicit DecisionBudget(std::int64_t evaluations = 0) : limit_(evaluations) {}

  bool is_limited() const { return limit_ > 0; }
  // Begins a decision. `has_news`: events other than wake-ups led to it. `is_whole`: it has no limit, as after a restart of
  // the policy, which places all running jobs again.
  void begin(bool has_news, bool is_whole = false);

  // Returns whether the decision may search for a place for the job. Else it is cut, or passes over the job.
  bool may_examine(JobId job) { return !is_limited() || admits(job); }
  // The same, and counts the search.
  bool examine(JobId job) { return !is_limited() || (admits(job) && count(job)); }
  // The same for a search that each decision of a pass must repeat: jobs that the pass has examined are not passed over,
  // and do not count.
  bool examine_again(JobId job) {
    return !is_limited() || is_examined(job) || (has_room(job) && count(job));
  }

  // Returns true if the decision has refused a job because the budget was used up.
  bool is_cut() const { return !cut_at_.is_none(); }
  // The first job that was refused so; none: the decision was not cut.
  JobId cut_at() const { return cut_at_; }
  // The evaluations of the decision.
  std::int64_t evaluations() const { return used_; }
  // Returns true if the present decision continues a pass or repeats it: a policy must try again what found no place
  // before, even if no event led to the decision.
  bool continues() const { return reason_ != Reason::kNews; }
  // Returns `is_due`, the start of a round; true as well if the decision continues one that was cut.
  bool in_round(bool is_due);

  // Ends a decision. Returns true if another must follow at once.
  bool end();

  // Archives the state of the pass. REQUIRES: between two decisions.
  void fields(Archive& archive);

 private:
  enum class Reason : std::uint8_t { kNews, kContinues, kRepeats };

  // Returns true if a decision of the pass has examined the job.
  bool is_examined(JobId job) { return last_.grow_to(job) >= first_; }
  bool admits(JobId job);
  bool has_room(JobId job);
  bool count(JobId job);
  void begin_pass();

  std::int64_t limit_;
  // State of the present decision.
  std::uint64_t decision_ = 1;  // number of the decision
  std::int64_t used_ = 0;
  JobId cut_at_;
  Reason reason_ = Reason::kNews;
  bool is_round_ = false;
  bool is_whole_ = false;
  // State of the pass.
  std::uint64_t first_ = 1;              // number of its first decision
  bool has_passed_over_ = false;         // a job
  bool has_news_ = false;                // since its first decision
  std::vector<JobId> examined_;          // in order
  IdVector<JobId, std::uint64_t> last_;  // the last decision that examined the job; 0: none
  // The reason of the next decision, as far as known.
  Reason next_ = Reason::kNews;
};

}  // namespace fairlead
