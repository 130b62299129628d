#include "fairlead/local/gpu_blame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace fairlead {
namespace {

bool has(std::span<const std::uint32_t> gpus, std::uint32_t gpu) {
  return std::ranges::find(gpus, gpu) != gpus.end();
}

bool overlap(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  return std::ranges::any_of(a, [&](std::uint32_t gpu) { return has(b, gpu); });
}

}  // namespace

void GpuBlame::on_failed(Time now, const Try& what, std::string_view end, bool is_retried,
                         const HasRoom& has_room) {
  std::erase_if(failures_,
                [&](const Failure& failure) { return now - failure.at >= kRest + kRest; });
  Failure failure{.what = what, .end = std::string(end), .is_retried = is_retried, .at = now};
  const std::string key = failure.key();
  const bool fails_elsewhere = std::ranges::any_of(failures_, [&](const Failure& other) {
    return !other.is_confirmed && other.key() == key && !overlap(other.what.gpus, what.gpus);
  });
  if (fails_elsewhere) return forget(key);
  failures_.push_back(std::move(failure));
  std::vector<std::uint32_t> suspects;
  std::set<std::string> users;
  bool has_rested = false;
  for (const std::uint32_t gpu : what.gpus) {
    if (!is_to_close(gpu)) continue;
    suspects.push_back(gpu);
    for (const Failure* on : failures_on(gpu)) {
      users.insert(on->what.user);
      has_rested = has_rested || now - on->at >= kRest;
    }
  }
  if (suspects.empty() || (users.size() < 2 && !has_room(suspects))) return;
  const bool is_final = suspects.size() == 1 && (users.size() >= 2 || has_rested);
  for (const std::uint32_t gpu : suspects)
    closed_[gpu] = {reason(gpu), is_final ? Time::never() : now + kRest};
}

void GpuBlame::on_good(const Try& what) {
  for (const std::uint32_t gpu : what.gpus) acquit(gpu);
  for (Failure& failure : failures_) {
    if (failure.what.user == what.user && failure.what.program == what.program)
      failure.is_confirmed = true;
  }
}

void GpuBlame::on_time(Time now) {
  std::erase_if(closed_, [&](const auto& entry) { return entry.second.until <= now; });
}

bool GpuBlame::is_suspect(std::uint32_t gpu) const { return !failures_on(gpu).empty(); }

void GpuBlame::open(std::uint32_t gpu) { acquit(gpu); }

std::vector<const GpuBlame::Failure*> GpuBlame::failures_on(std::uint32_t gpu) const {
  std::vector<const Failure*> on;
  for (const Failure& failure : failures_) {
    if (has(failure.what.gpus, gpu)) on.push_back(&failure);
  }
  return on;
}

bool GpuBlame::is_to_close(std::uint32_t gpu) const {
  const auto on = failures_on(gpu);
  return on.size() >= 2 ||
         std::ranges::any_of(on, [](const Failure* failure) { return failure->is_retried; });
}

// "job 12 of ann, job 15 of bob failed at once on it (exit code 1)".
std::string GpuBlame::reason(std::uint32_t gpu) const {
  std::vector<std::string> jobs;
  std::string end;
  for (const Failure* failure : failures_on(gpu)) {
    std::string job = fmt::format("job {} of {}", failure->what.task.job.row(), failure->what.user);
    if (std::ranges::find(jobs, job) == jobs.end()) jobs.push_back(std::move(job));
    end = failure->end;
  }
  return fmt::format("{} failed at once on it ({})", fmt::join(jobs, ", "), end);
}

// Removes the suspicion of a GPU.
void GpuBlame::acquit(std::uint32_t gpu) {
  closed_.erase(gpu);
  for (Failure& failure : failures_) std::erase(failure.what.gpus, gpu);
  std::erase_if(failures_, [](const Failure& failure) { return failure.what.gpus.empty(); });
}

// Drops the failures of a program that fails by itself.
void GpuBlame::forget(const std::string& key) {
  std::set<std::uint32_t> gpus;
  std::erase_if(failures_, [&](const Failure& failure) {
    if (failure.is_confirmed || failure.key() != key) return false;
    gpus.insert(failure.what.gpus.begin(), failure.what.gpus.end());
    return true;
  });
  for (const std::uint32_t gpu : gpus) {
    if (!is_to_close(gpu)) closed_.erase(gpu);
  }
}

}  // namespace fairlead
