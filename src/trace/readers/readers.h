// One reader per format; trace.h says what each means and dispatches to them.
//
// A reader passes every row of `source` to `builder` and stops at the first error.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/model/workload.h"
#include "fairlead/trace/trace.h"

namespace fairlead {

Status read_native(ByteSource& source, WorkloadBuilder& builder);
Status read_normalized(ByteSource& source, WorkloadBuilder& builder);
Status read_tiresias(ByteSource& source, WorkloadBuilder& builder);
Status read_gavel(ByteSource& source, const StepsPerSecond& steps_per_second,
                  WorkloadBuilder& builder);
Status read_philly(ByteSource& source, WorkloadBuilder& builder);
// Helios's and Acme's logs, which name the columns we need alike.
Status read_helios(ByteSource& source, WorkloadBuilder& builder);
Status read_pai(ByteSource& source, WorkloadBuilder& builder);
Status read_openb(ByteSource& source, WorkloadBuilder& builder);
Status read_sacct(ByteSource& source, WorkloadBuilder& builder);

}  // namespace fairlead
