// The speeds of gangs for the engine, from the progress of their pods (pods/pod_progress.h).
//
// The pods of a gang count the same steps, so the gang has the speed of its first pod that has one. Speed 1 is the first
// speed that was measured for a user's model, per GPU. Policies compare speeds relative to it.
#pragma once

#include "fairlead/model/event.h"
#include "fairlead/model/jobs.h"
#include "fairlead/pods/gang.h"
#include "fairlead/pods/pod_progress.h"

#include <map>
#include <string>
#include <vector>

namespace fairlead {

class GangSpeeds {
 public:
  // The speeds that are 1, in units a second and GPU, by user, model and unit.
  struct ModelUnit {
    std::string user, model, unit;
    void fields(auto& archive) { archive(user, model, unit); }
    auto operator<=>(const ModelUnit&) const = default;
  };
  using References = std::map<ModelUnit, double>;

  const References& references() const { return references_; }
  void set_references(References references) { references_ = std::move(references); }

  // Returns the events that report the speed of a gang, in the present run of its job; none if the engine knows it.
  std::vector<Event> news(const PodGang& gang, JobId job, RunId run);
  void forget(JobId job) { reported_.erase(job); }

 private:
  struct Reported {
    RunId run = 0;
    double speed = 0;
  };

  References references_;
  std::map<JobId, Reported> reported_;
};

// Returns the progress of a gang; null: none of its pods has any.
const PodProgress* progress_of(const PodGang& gang);

}  // namespace fairlead
