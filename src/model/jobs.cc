#include "fairlead/model/jobs.h"

namespace fairlead {

void Jobs::start_serving() {
  FL_CHECK(state.empty(), "these jobs are served already");
  attained_settled.resize(size());
  held_since.resize(size());
  held_gpus.resize(size());
  state.resize(size(), JobState::kUnsubmitted);
  last.resize(size());
}

}  // namespace fairlead
