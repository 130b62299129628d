#include "fairlead/live/job_book.h"

#include "fairlead/base/overloaded.h"

namespace fairlead {

void JobBook::on(const Record& record) {
  now_ = record.t;
  dues_.on(record);
  usage_.on(record);
  waits_.on(record);
  std::visit(Overloaded{
                 [&](const record::Arrived& what) {
                   entry(what.asked.job) = {.since = now_, .declared = what.asked.work};
                 },
                 [&](const record::Rejected& what) { end(what.asked.job, what.reason); },
                 [&](const record::Finished& what) { end(what.job, {}); },
                 [&](const record::Failed& what) { end(what.job, what.reason); },
                 [&](const record::Cancelled& what) {
                   ++cancelled_;
                   end(what.job, what.reason);
                 },
                 [&](const record::Started& what) { placed_[what.job].has_started = true; },
                 [&](const record::StartFailed& what) {
                   entry(what.job).tasks = placed_[what.job].tasks_before;
                   entry(what.job).moves = placed_[what.job].moves_before;
                   ++entry(what.job).failed_starts;
                   placed_.erase(what.job);
                   entry(what.job).reason = what.reason;
                   entry(what.job).since = now_;
                 },
                 [&](const record::Evicted& what) {
                   if (placed_[what.job].has_started)
                     entry(what.job).lost.push_back(tables_.jobs.run[what.job]);
                   placed_.erase(what.job);
                   entry(what.job).since = now_;
                 },
                 [&](const record::Charged& what) { served_.grow_to(what.user) += what.attained; },
                 [&](const record::Place& what) { place(what); },
                 [&](const record::Stop& what) {
                   if (!backend_.rests_in_place(what.job)) placed_.erase(what.job);
                   entry(what.job).since = now_;
                 },
                 [&](const OneOf<record::Held, record::Released> auto& what) {
                   entry(what.job).since = now_;
                 },
                 [](const auto&) {},
             },
             record.what);
}

void JobBook::place(const record::Place& what) {
  Entry& job = entry(what.job);
  job.since = now_;
  const auto [found, is_first] = placed_.try_emplace(what.job);
  Placed& placed = found->second;
  if (what.copy == 0) {
    placed.before = std::exchange(placed.gpus, {});
    placed.tasks_before = job.tasks;
    placed.moves_before = job.moves;
    placed.has_started = false;
  }
  std::size_t i = 0;
  for (Slice slice : what.gang) placed.gpus.emplace_back(slice.node, what.gpu_masks[i++]);
  const bool is_other = is_first || placed.gpus != placed.before;
  job.tasks = placed.tasks_before + (is_other ? 1 : 0);
  job.moves = placed.moves_before + (is_other && !placed.before.empty() ? 1 : 0);
}

void JobBook::end(JobId job, std::string_view reason) {
  Entry& done = entry(job);
  done.done = done.since = now_;
  done.reason = reason;
  placed_.erase(job);
  const Jobs& jobs = tables_.jobs;
  GpuTime& served = served_.grow_to(jobs.user[job]);
  served = served + gpu_time(tables_, job, now_);
}

}  // namespace fairlead
