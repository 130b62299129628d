#include "fairlead/policy/decision_budget.h"

#include "fairlead/base/archive.h"

#include <utility>

namespace fairlead {

void DecisionBudget::begin(bool has_news, bool is_whole) {
  if (!is_limited()) return;
  is_whole_ = is_whole;
  ++decision_;
  used_ = 0;
  cut_at_ = {};
  reason_ = std::exchange(next_, Reason::kNews);
  if (reason_ == Reason::kContinues) {
    has_news_ |= has_news;
  } else {
    begin_pass();
  }
}

void DecisionBudget::begin_pass() {
  first_ = decision_;
  has_passed_over_ = false;
  has_news_ = false;
  is_round_ = false;
  examined_.clear();
}

bool DecisionBudget::admits(JobId job) {
  if (!is_examined(job)) return has_room(job);
  if (last_[job] == decision_) return true;
  has_passed_over_ = true;
  return false;
}

// REQUIRES: the pass has not examined the job.
bool DecisionBudget::has_room(JobId job) {
  if (is_whole_ || used_ < limit_) return true;
  if (!is_cut()) cut_at_ = job;
  return false;
}

bool DecisionBudget::count(JobId job) {
  ++used_;
  if (!is_examined(job)) examined_.push_back(job);
  last_[job] = decision_;
  return true;
}

bool DecisionBudget::in_round(bool is_due) {
  is_round_ = is_due || (reason_ == Reason::kContinues && is_round_);
  return is_round_;
}

bool DecisionBudget::end() {
  if (!is_limited()) return false;
  if (is_cut()) next_ = Reason::kContinues;
  if (!is_cut() && has_passed_over_ && has_news_) next_ = Reason::kRepeats;
  return next_ != Reason::kNews;
}

void DecisionBudget::fields(Archive& archive) {
  if (!is_limited()) return;
  archive.enumerator(next_, Reason::kRepeats);
  archive(is_round_, has_passed_over_, has_news_, examined_);
  if (!archive.reads()) return;
  for (JobId job : examined_) {
    archive.expect(!job.is_none());
    if (archive.ok()) last_.grow_to(job) = decision_;
  }
}

}  // namespace fairlead
