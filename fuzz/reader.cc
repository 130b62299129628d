#include "reader.h"

#include "fairlead/base/check.h"
#include "fairlead/base/file.h"
#include "fairlead/trace/convert.h"
#include "fairlead/trace/inspect.h"
#include "fairlead/trace/trace.h"

#include <string>

namespace fairlead {
namespace {

Result<Workload> read(std::string_view bytes, TraceFormat format, Reading reading) {
  FL_TRY_ASSIGN(source, ByteSource::memory(bytes, "fuzz"));
  return read_trace(source, {.format = format, .reading = reading});
}

void check_jobs(const Workload& workload) {
  const Jobs& jobs = workload.jobs;
  FL_CHECK(workload.rows.rows_read ==
           static_cast<std::int64_t>(jobs.size()) + workload.rows.rejected());
  for (const JobId job : ids<JobId>(jobs.size())) {
    FL_CHECK(jobs.gpus[job] >= 1 && jobs.gpus[job] <= kJobGpusMax);
    FL_CHECK(jobs.gpus_min[job] >= 1 && jobs.gpus_min[job] <= jobs.gpus[job]);
    FL_CHECK(jobs.gpus_max[job] >= jobs.gpus[job] && jobs.gpus_max[job] <= kJobGpusMax);
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

}  // namespace

void fuzz_reader(TraceFormat format, const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto strict = read(bytes, format, Reading::kStrict);
  const auto lenient = read(bytes, format, Reading::kLenient);
  FL_CHECK(lenient || !strict, "strict reading took what lenient reading refused");
  if (!lenient) return;
  check_jobs(*lenient);
  to_json(inspect(*lenient));
  const std::string text = native_text(*lenient);
  const auto again = read(text, TraceFormat::kNative, Reading::kStrict);
  FL_CHECK(again.has_value(), "{}", again.error().message);
  FL_CHECK(native_text(*again) == text);
}

}  // namespace fairlead
