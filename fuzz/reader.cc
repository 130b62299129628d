// The bytes are a trace of the format FAIRLEAD_FORMAT, read in strict and in lenient reading.
// Aborts if the rows do not add up, or if a job breaks the contract of a workload. Also aborts if
// the workload does not survive conversion to native CSV.

#include "fairlead/base/check.h"
#include "fairlead/base/file.h"
#include "fairlead/trace/convert.h"
#include "fairlead/trace/inspect.h"
#include "fairlead/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace fairlead {
namespace {

Result<Workload> read(std::string_view bytes, std::string_view name, Reading reading) {
  const TraceFormat* format = find_format(name);
  FL_CHECK(format != nullptr, "no format {}", name);
  FL_TRY_ASSIGN(source, ByteSource::memory(bytes, "fuzz"));
  return read_trace(source, {.format = format, .reading = reading, .tasks = Tasks::kAsInTrace});
}

void check_jobs(const Workload& workload) {
  const Jobs& jobs = workload.jobs;
  FL_CHECK(workload.rows.rows_read ==
           static_cast<std::int64_t>(jobs.size()) + workload.rows.rejected());
  for (const JobId job : ids<JobId>(jobs.size())) {
    FL_CHECK(jobs.gpus[job] >= 1 && jobs.gpus[job] <= kJobGpusMax);
    FL_CHECK(jobs.gpus_min[job] >= 1 && jobs.gpus_min[job] <= jobs.gpus[job]);
    FL_CHECK(jobs.gpus_max[job] >= jobs.gpus[job] && jobs.gpus_max[job] <= kJobGpusMax);
    const std::uint32_t task = jobs.task_gpus[job];
    FL_CHECK(task >= 1 && jobs.gpus[job] % task == 0 && jobs.gpus_min[job] % task == 0 &&
             jobs.gpus_max[job] % task == 0);
    FL_CHECK(jobs.arrival[job].ms >= 0 && jobs.arrival[job].ms <= kMsMax);
    FL_CHECK(workload.durations[job].ms >= 1 && workload.durations[job].ms <= kMsMax);
    FL_CHECK(workload.users.tickets[jobs.user[job]] >= 1);
  }
}

std::string native_text(const Workload& workload) {
  std::string text;
  write_native(workload, [&](std::string_view piece) { text += piece; });
  return text;
}

void fuzz_reader(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto strict = read(bytes, FAIRLEAD_FORMAT, Reading::kStrict);
  const auto lenient = read(bytes, FAIRLEAD_FORMAT, Reading::kLenient);
  FL_CHECK(lenient || !strict, "strict reading took what lenient reading refused");
  if (!lenient) return;
  check_jobs(*lenient);
  to_json(inspect(*lenient));
  const std::string text = native_text(*lenient);
  const auto again = read(text, "native", Reading::kStrict);
  FL_CHECK(again.has_value(), "{}", again.error().message);
  FL_CHECK(native_text(*again) == text);
}

}  // namespace
}  // namespace fairlead

// The entry point that libFuzzer and main.cc call.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fairlead::fuzz_reader(data, size);
  return 0;
}
