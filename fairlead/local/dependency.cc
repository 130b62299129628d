#include "fairlead/local/dependency.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fairlead {
namespace {

// The last jobs of an array are the ones that are unfinished, so the search starts there.
bool is_met(const Dependency& condition, const Tables& tables) {
  std::uint32_t unfinished = 0;
  for (std::size_t row = condition.last.row() + 1; row-- > condition.first.row();) {
    if (tables.jobs.is_here(JobId(row)) && ++unfinished > condition.unfinished_max) return false;
  }
  return true;
}

std::string text_of(const Dependency& condition) {
  const std::size_t first = condition.first.row();
  const std::size_t last = condition.last.row();
  if (first == last) return fmt::format("job {}", first);
  const std::uint32_t but = condition.unfinished_max;
  return fmt::format("{}jobs {} to {}", but == 0 ? "" : fmt::format("all but {} of ", but), first,
                     last);
}

}  // namespace

std::vector<Dependency> after_each(std::vector<JobId> jobs, bool needs_success) {
  std::ranges::sort(jobs);
  std::vector<Dependency> conditions;
  for (JobId job : jobs) {
    if (!conditions.empty() && job.row() <= conditions.back().last.row() + 1) {
      conditions.back().last = job;
    } else {
      conditions.push_back({.first = job, .last = job, .needs_success = needs_success});
    }
  }
  return conditions;
}

bool are_met(std::span<const Dependency> conditions, const Tables& tables) {
  return std::ranges::all_of(conditions,
                             [&](const Dependency& one) { return is_met(one, tables); });
}

JobId broken_by(std::span<const Dependency> conditions, const Tables& tables) {
  for (const Dependency& condition : conditions) {
    if (!condition.needs_success) continue;
    for (std::size_t row = condition.first.row(); row <= condition.last.row(); ++row) {
      const JobId job(row);
      if (!tables.jobs.is_here(job) && tables.jobs.state[job] != JobState::kFinished) return job;
    }
  }
  return JobId::none();
}

std::string dependencies_text(std::span<const Dependency> conditions, const Tables& tables) {
  std::vector<std::string> texts;
  for (const Dependency& condition : conditions) {
    if (!is_met(condition, tables)) texts.push_back(text_of(condition));
  }
  return texts.empty() ? std::string() : fmt::format("after {}", fmt::join(texts, " and "));
}

}  // namespace fairlead
