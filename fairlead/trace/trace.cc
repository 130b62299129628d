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
  if (const std::string_view what = instead_of_a_trace(head); !what.empty())
    return input_error("{}: {}", source.name(), what);
  const std::string nearest = nearest_format(head);
  const std::string_view line = head.substr(0, std::min<std::size_t>(head.find('\n'), 60));
  return input_error(
      "{}:1: cannot recognise the format of this trace{}{}; name it (--format {}) or its columns "
      "(--columns job=NAME,gpus=NAME,submit=NAME,duration=NAME): {}",
      source.name(), nearest.empty() ? "" : ": ", nearest, format_names(), line);
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
  builder.set_conditions(options.where);
  if (!options.where.empty() && format->needs.empty())
    return input_error("--where needs a format with column names in a header: {}", format->name);
  FL_TRY(format->read(source, options, builder));
  Workload workload = builder.finish();
  workload.reading.format = format->name;
  workload.reading.is_recognised = options.format == nullptr;
  return select_jobs(std::move(workload), options.selection);
}

}  // namespace fairlead
