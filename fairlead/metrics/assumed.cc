#include "fairlead/metrics/assumed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fairlead {
namespace {

constexpr std::size_t kShown = 5;  // entries of each list

bool is_above_1_percent(std::int64_t part, std::int64_t whole) { return 100 * part > whole; }

// "12 late, 3 early and 2 others", the most frequent first.
std::string counts_text(const CountByReason& counts) {
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [what, count] : counts) sorted.emplace_back(count, what);
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const auto& one) { return one.first; });
  std::int64_t more = 0;
  std::string text;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i >= kShown) more += sorted[i].first;
    if (i >= kShown) continue;
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", sorted[i].first, sorted[i].second);
  }
  return more == 0 ? text : fmt::format("{} and {} others", text, more);
}

std::int64_t total_of(const CountByReason& counts) {
  std::int64_t total = 0;
  for (const auto& [what, count] : counts) total += count;
  return total;
}

void add_rows(const Summary& summary, std::vector<AssumedLine>& lines) {
  if (const std::int64_t rows = total_of(summary.rows_rejected); rows > 0) {
    const std::int64_t unusable = rows - summary.rows_skipped;
    lines.push_back({"rows left out", counts_text(summary.rows_rejected), rows,
                     is_above_1_percent(unusable, summary.rows_read - summary.rows_skipped)});
  }
  if (const std::int64_t rows = total_of(summary.rows_repaired); rows > 0) {
    lines.push_back({"rows repaired", counts_text(summary.rows_repaired), rows,
                     is_above_1_percent(rows, summary.jobs_read)});
  }
}

void add_speeds(const Summary& summary, std::vector<AssumedLine>& lines) {
  const auto add = [&](std::string text, std::int64_t jobs) {
    lines.push_back({"speeds", std::move(text), jobs, is_above_1_percent(jobs, summary.jobs_read)});
  };
  if (summary.models_unknown > 0) {
    add("1 on every GPU: the table of models does not have theirs (else: --set "
        "unknown_speed=generic)",
        summary.models_unknown);
  }
  if (const std::int64_t jobs = summary.assumed.jobs_without_model; jobs > 0) {
    add("1 on every GPU: they name no model (else: --set unknown_speed=generic)", jobs);
  }
  std::vector<AssumedSpeed> speeds = summary.assumed.speeds;
  std::ranges::stable_sort(speeds, std::ranges::greater(), &AssumedSpeed::jobs);
  for (std::size_t i = 0; i < std::min(speeds.size(), kShown); ++i) {
    add(fmt::format("{} on {}: {}", speeds[i].model, speeds[i].gpu_type, speeds[i].as),
        speeds[i].jobs);
  }
  if (speeds.size() <= kShown) return;
  std::int64_t jobs = 0;
  for (std::size_t i = kShown; i < speeds.size(); ++i) jobs = std::max(jobs, speeds[i].jobs);
  add(fmt::format("{} more models and GPU types", speeds.size() - kShown), jobs);
}

void add_reading(const Summary& summary, std::vector<AssumedLine>& lines) {
  const Assumptions& assumed = summary.assumed;
  if (assumed.reference_jobs > 0 && !assumed.reference_is_named &&
      !assumed.reference_type.empty()) {
    lines.push_back(
        {"reference",
         fmt::format("durations are those on {}, the fastest type", assumed.reference_type),
         assumed.reference_jobs});
  }
  if (!assumed.resources.empty())
    lines.push_back({"resources", assumed.resources, assumed.resources_jobs});
  for (const auto& [text, jobs] : assumed.limits) lines.push_back({"limits", text, jobs});
  const TraceReading& trace = assumed.trace;
  if (trace.is_recognised && !trace.format.empty()) {
    lines.push_back(
        {"format", fmt::format("{}, recognised by its content", trace.format), summary.jobs_read});
  }
  if (!trace.times.empty()) lines.push_back({"times", trace.times, summary.jobs_read});
  if (!trace.states.empty()) {
    lines.push_back({"states",
                     counts_text(trace.states) + ": each counts with the time that it ran",
                     total_of(trace.states)});
  }
  if (!trace.columns_read.empty()) {
    lines.push_back({"columns", fmt::format("read as {}", fmt::join(trace.columns_read, ", ")),
                     summary.jobs_read});
  }
  if (!trace.columns_ignored.empty()) {
    lines.push_back({"columns", fmt::format("ignored: {}", fmt::join(trace.columns_ignored, ", ")),
                     summary.jobs_read});
  }
}

}  // namespace

std::vector<AssumedLine> assumed_lines(const Summary& summary) {
  std::vector<AssumedLine> lines;
  for (const std::string& odd : summary.assumed.implausible) {
    lines.push_back({"odd", odd, summary.jobs_read, true});
  }
  add_rows(summary, lines);
  add_speeds(summary, lines);
  add_reading(summary, lines);
  return lines;
}

}  // namespace fairlead
