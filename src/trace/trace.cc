#include "fairlead/trace/trace.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace fairlead {
namespace {

// Enough for the longest header or first row.
constexpr std::size_t kHeadBytes = 1 << 14;

Result<const TraceFormat*> recognise(ByteSource& source) {
  FL_TRY_ASSIGN(head, source.peek(kHeadBytes));
  if (const TraceFormat* format = format_of(head)) return format;
  const std::string_view line = head.substr(0, std::min<std::size_t>(head.find('\n'), 60));
  return input_error("{}:1: cannot tell the format of this trace; name it (--format {}): {}",
                     source.name(), format_names(), line);
}

}  // namespace

Result<Workload> read_trace(const std::string& path, const ReadOptions& options) {
  FL_TRY_ASSIGN(source, ByteSource::open(path));
  auto workload = read_trace(source, options);
  if (workload && path != "-") workload->name = std::filesystem::path(path).filename().string();
  return workload;
}

Result<Workload> read_trace(ByteSource& source, const ReadOptions& options) {
  const TraceFormat* format = options.format;
  if (format == nullptr) {
    FL_TRY_ASSIGN(recognised, recognise(source));
    format = recognised;
  }
  WorkloadBuilder builder(source.name(), options.reading.value_or(format->reading), options.tasks);
  FL_TRY(format->read(source, options.steps_per_second, builder));
  Workload workload = builder.finish();
  workload.reading.format = format->name;
  workload.reading.is_recognised = options.format == nullptr;
  return workload;
}

}  // namespace fairlead
