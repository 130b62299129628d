#include "fairlead/model/jobs.h"

namespace fairlead {

void Jobs::start_serving() {
  FL_CHECK(model.size() == size() && gpus.size() == size() && gpus_min.size() == size() &&
               gpus_max.size() == size() && arrival.size() == size() && types.size() == size(),
           "the columns of {} jobs differ in length", size());
  FL_CHECK(state.empty(), "these jobs are served already");
  attained_settled.resize(size());
  held_since.resize(size());
  held_gpus.resize(size());
  state.resize(size(), JobState::kUnsubmitted);
  last.resize(size());
}

}  // namespace fairlead
