#include "fairlead/run/trace.h"

#include "fairlead/trace/trace.h"

#include <utility>

namespace fairlead {

Result<Trace> Trace::read(const std::string& path) { return read(path, {}); }

Result<Trace> Trace::read(const std::string& path, const ReadOptions& options) {
  FL_TRY_ASSIGN(workload, read_trace(path, options));
  return Trace(std::move(workload));
}

Result<Trace> Trace::of(const std::string& name, std::span<const JobRow> rows) {
  WorkloadBuilder builder(name, Reading::kStrict);
  std::int64_t number = 0;
  for (const JobRow& row : rows) FL_TRY(builder.add(row, Where(name, ++number)));
  return Trace(builder.finish());
}

Trace::Trace(Workload workload) : workload_(std::make_unique<Workload>(std::move(workload))) {}
Trace::Trace(const Trace& other) : workload_(std::make_unique<Workload>(*other.workload_)) {}
Trace::Trace(Trace&& other) noexcept = default;
Trace& Trace::operator=(Trace other) noexcept {
  std::swap(workload_, other.workload_);
  return *this;
}
Trace::~Trace() = default;

const std::string& Trace::name() const { return workload_->name; }

std::size_t Trace::jobs() const { return workload_->jobs.size(); }

}  // namespace fairlead
