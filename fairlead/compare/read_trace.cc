#include "fairlead/compare/read_trace.h"

#include "fairlead/trace/trace.h"

#include <utility>

namespace fairlead {

Result<Trace> read_trace_of(const RunConfig& config) {
  FL_TRY_ASSIGN(steps_per_second, steps_per_second_of(config.settings.models));
  ReadOptions read = config.read;
  read.reading = config.settings.reading;
  read.tasks = config.settings.tasks;
  read.steps_per_second = std::move(steps_per_second);
  return Trace::read(config.trace, read);
}

}  // namespace fairlead
