#include "fairlead/trace/format.h"

#include "fairlead/base/parse.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

namespace fairlead {
namespace {

constexpr std::array<std::string_view, kTraceFormats> kNames = {
    "native", "tiresias", "gavel", "philly", "helios",
    "acme",   "pai",      "openb", "sacct",  "normalized"};

std::string_view unquoted(std::string_view field) {
  field = trimmed(field);
  if (field.size() < 2 || !field.starts_with('"') || !field.ends_with('"')) return field;
  return field.substr(1, field.size() - 2);
}

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t end = line.find(separator);
    fields.push_back(unquoted(line.substr(0, end)));
    if (end == line.npos) return fields;
    line.remove_prefix(end + 1);
  }
}

bool contains(const std::vector<std::string_view>& fields,
              std::initializer_list<std::string_view> names) {
  return std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    return std::find(fields.begin(), fields.end(), name) != fields.end();
  });
}

// A row of pai_task_table.csv: ten fields, the fourth of which is a state.
bool is_pai_row(const std::vector<std::string_view>& fields) {
  constexpr std::array<std::string_view, 4> kStates = {"Terminated", "Failed", "Running",
                                                       "Waiting"};
  return fields.size() == 10 &&
         std::find(kStates.begin(), kStates.end(), fields[3]) != kStates.end();
}

std::string_view first_line(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  head = head.substr(0, head.find('\n'));
  if (head.ends_with('\r')) head.remove_suffix(1);
  return head;
}

// Philly's log is the only JSON: an array of objects.
bool is_json_array(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  const std::size_t at = head.find_first_not_of(" \t\r\n");
  return at != head.npos && head[at] == '[';
}

}  // namespace

std::string_view format_name(TraceFormat format) {
  return kNames[static_cast<std::size_t>(format)];
}

std::optional<TraceFormat> format_named(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<TraceFormat>(found - kNames.begin());
}

std::string_view format_names() {
  return "native|tiresias|gavel|philly|helios|acme|pai|openb|sacct|normalized";
}

std::optional<TraceFormat> format_of(std::string_view head) {
  if (is_json_array(head)) return TraceFormat::kPhilly;
  const std::string_view line = first_line(head);
  const std::size_t tabs = split(line, '\t').size();
  if (tabs == 10 || tabs == 12) return TraceFormat::kGavel;
  if (contains(split(line, '|'), {"JobID", "Submit"})) return TraceFormat::kSacct;
  const std::vector<std::string_view> names = split(line, ',');
  if (contains(names, {"job", "submit_s"})) return TraceFormat::kNative;
  if (contains(names, {"job_id", "submit_s"})) return TraceFormat::kNormalized;
  if (contains(names, {"job_id", "vc", "gpu_num"})) return TraceFormat::kHelios;
  if (contains(names, {"job_id", "gpu_num", "submit_time"})) return TraceFormat::kAcme;
  if (contains(names, {"job_id", "num_gpu", "submit_time"})) return TraceFormat::kTiresias;
  if (contains(names, {"name", "num_gpu", "creation_time"})) return TraceFormat::kOpenb;
  if (is_pai_row(names)) return TraceFormat::kPai;
  return std::nullopt;
}

Reading default_reading(TraceFormat format) {
  return format == TraceFormat::kNative ? Reading::kStrict : Reading::kLenient;
}

}  // namespace fairlead
