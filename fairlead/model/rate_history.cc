#include "fairlead/model/rate_history.h"

#include <algorithm>
#include <utility>

namespace fairlead {

void RateHistory::add(JobId job, const Stretch& past) {
  std::vector<Stretch>& stretches = past_.grow_to(job);
  if (stretches.empty() && !unused_.empty()) {
    stretches.swap(unused_.back());
    unused_.pop_back();
  }
  FL_DCHECK(past.from <= past.to, "{} ms to {} ms", past.from.ms, past.to.ms);
  FL_DCHECK(stretches.empty() || stretches.back().to <= past.from, "{} ms is before {} ms",
            past.from.ms, stretches.back().to.ms);
  stretches.push_back(past);
}

void RateHistory::clear(JobId job) {
  if (!past_.has(job) || past_[job].empty()) return;
  past_[job].clear();
  unused_.push_back(std::exchange(past_[job], {}));
}

Work RateHistory::done_in_last(JobId job, Duration lost, const Stretch& present) const {
  const Time since = present.to - lost;
  const auto after_since = [since](const Stretch& stretch) {
    const Time from = std::max(stretch.from, since);
    return from < stretch.to ? progress(stretch.rate, stretch.to - from) : Work{};
  };
  Work done = after_since(present);
  if (!past_.has(job)) return done;
  const std::vector<Stretch>& stretches = past_[job];
  for (auto past = stretches.rbegin(); past != stretches.rend() && past->to > since; ++past) {
    done += after_since(*past);
  }
  return done;
}

}  // namespace fairlead
