#include "fairlead/trace/trace.h"

#include "fairlead/trace/readers/readers.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace fairlead {
namespace {

// Enough for the longest header or first row.
constexpr std::size_t kHeadBytes = 1 << 14;

Result<TraceFormat> recognise(ByteSource& source) {
  FL_TRY_ASSIGN(head, source.peek(kHeadBytes));
  if (const auto format = format_of(head)) return *format;
  const std::string_view line = head.substr(0, std::min<std::size_t>(head.find('\n'), 60));
  return input_error("{}:1: cannot tell the format of this trace; name it (--format {}): {}",
                     source.name(), format_names(), line);
}

Status dispatch(ByteSource& source, TraceFormat format, const ReadOptions& options,
                WorkloadBuilder& builder) {
  switch (format) {
    case TraceFormat::kNative:
      return read_native(source, builder);
    case TraceFormat::kTiresias:
      return read_tiresias(source, builder);
    case TraceFormat::kGavel:
      return read_gavel(source, options.steps_per_second, builder);
    case TraceFormat::kPhilly:
      return read_philly(source, builder);
    case TraceFormat::kHelios:
    case TraceFormat::kAcme:
      return read_helios(source, builder);
    case TraceFormat::kPai:
      return read_pai(source, builder);
    case TraceFormat::kOpenb:
      return read_openb(source, builder);
    case TraceFormat::kSacct:
      return read_sacct(source, builder);
    case TraceFormat::kNormalized:
      return read_normalized(source, builder);
  }
  FL_CHECK(false, "format {}", static_cast<int>(format));
}

}  // namespace

Result<Workload> read_trace(const std::string& path, const ReadOptions& options) {
  FL_TRY_ASSIGN(source, ByteSource::open(path));
  auto workload = read_trace(source, options);
  if (workload && path != "-") workload->name = std::filesystem::path(path).filename().string();
  return workload;
}

Result<Workload> read_trace(ByteSource& source, const ReadOptions& options) {
  TraceFormat format = options.format.value_or(TraceFormat::kNative);
  if (!options.format) {
    FL_TRY_ASSIGN(recognised, recognise(source));
    format = recognised;
  }
  WorkloadBuilder builder(source.name(), options.reading.value_or(default_reading(format)));
  FL_TRY(dispatch(source, format, options, builder));
  return builder.finish();
}

}  // namespace fairlead
