// Resumes the owners that Fairlead suspended, so that none stays suspended once Fairlead has left a cluster.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/kube/door.h"
#include "fairlead/kube/lease.h"
#include "fairlead/pods/pods_options.h"

#include <string>
#include <vector>

namespace fairlead {

// Leads in place of a scheduler with that source, resumes each suspended owner with the mark of Fairlead, and removes the mark. Returns their
// names, "namespace/name". Errors: another process leads, and keeps its Lease for twice its length; the API server did not
// report or resume all of them until `until`.
Result<std::vector<std::string>> resume_all(KubeDoor& door, const LeaseSettings& lease, Time until,
                                            GangSource source = GangSource::kKubernetes);

}  // namespace fairlead
