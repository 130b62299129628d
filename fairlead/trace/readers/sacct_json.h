// The output of Slurm's sacct --json.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/model/workload.h"
#include "fairlead/trace/trace.h"

namespace fairlead {

// Reads what sacct --json writes: Slurm 21.08 and later.
Status read_slurm_json(ByteSource& source, const ReadOptions& options, WorkloadBuilder& builder);

}  // namespace fairlead
