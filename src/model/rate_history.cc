#include "fairlead/model/rate_history.h"

#include <algorithm>

namespace fairlead {

void RateHistory::add(JobId job, const Stretch& past) {
  std::vector<Stretch>& stretches = past_[job];
  FL_DCHECK(past.from <= past.to, "{} ms to {} ms", past.from.ms, past.to.ms);
  FL_DCHECK(stretches.empty() || stretches.back().to <= past.from, "{} ms is before {} ms",
            past.from.ms, stretches.back().to.ms);
  stretches.push_back(past);
}

Work RateHistory::done_in_last(JobId job, Duration lost, const Stretch& present) const {
  const Time since = present.to - lost;
  const auto after_since = [since](const Stretch& stretch) {
    const Time from = std::max(stretch.from, since);
    return from < stretch.to ? progress(stretch.rate, stretch.to - from) : Work{};
  };
  Work done = after_since(present);
  const auto row = past_.find(job);
  if (row == past_.end()) return done;
  for (auto past = row->second.rbegin(); past != row->second.rend() && past->to > since; ++past) {
    done += after_since(*past);
  }
  return done;
}

}  // namespace fairlead
