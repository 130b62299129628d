#include "fairlead/model/work_history.h"

namespace fairlead {

Duration WorkHistory::Sum::mean() const {
  if (jobs == 0) return {};
  return {static_cast<std::int64_t>(work_ms / jobs)};
}

void WorkHistory::add(UserId user, ModelId model, Duration work) {
  of_user_and_model_[{user, model}].add(work);
  of_user_[user].add(work);
  of_model_[model].add(work);
  of_all_.add(work);
}

Duration WorkHistory::mean(UserId user, ModelId model) const {
  const auto both = of_user_and_model_.find({user, model});
  if (both != of_user_and_model_.end()) return both->second.mean();
  if (const auto own = of_user_.find(user); own != of_user_.end()) return own->second.mean();
  if (const auto same = of_model_.find(model); same != of_model_.end()) return same->second.mean();
  return of_all_.mean();
}

}  // namespace fairlead
