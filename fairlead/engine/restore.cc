// The engine's part in recovery (engine/recovery.h): applies the records of an earlier journal, and writes the
// snapshots that the next recovery needs.

#include "fairlead/base/archive.h"
#include "fairlead/base/overloaded.h"
#include "fairlead/engine/engine.h"
#include "fairlead/model/known_speed.h"
#include "fairlead/model/step.h"

#include <algorithm>
#include <bit>

namespace fairlead {

void Engine::snapshot(std::string_view policy_options) {
  if (restarts_policy_) return;  // the policy does not know the jobs yet
  Writer writer;
  save(*policy_, writer);
  std::vector<Time> wakes;
  for (auto left = wakes_; !left.empty(); left.pop()) wakes.push_back(left.top());
  log(record::Snapshot{policy_->name(), policy_options, writer.bytes(), wakes});
  decided_ = now_;  // later events of this instant count for the next
}

void Engine::restore_wakes(std::span<const Time> wakes) {
  for (Time wake : wakes) wakes_.push(wake);
}

void Engine::learn(UserId user, std::string_view model, GpuTypeId type,
                   const MeasuredRate& measured) {
  known_.learn({.user = user,
                .model = model.empty() ? ModelId() : tables_.add_model(model),
                .type = type,
                .measured = measured});
}

// Applies a record to the tables, the plan, and the known speeds and work.
void Engine::restore(const Record& record) {
  now_ = decided_ = record.t;
  // Retries that were due are in the journal as Released, or were obsolete.
  while (!retries_.empty() && retries_.top().first <= now_) retries_.pop();
  known_.set_now(now_);
  known_work_.set_now(now_);
  const auto lose = [&](JobId job, Duration lost) {
    if (jobs_.state[job] != JobState::kRunning) return;
    plan_.world_took_away(job);
    known_.on_run_end(job);
    known_work_.on_run_end(job, lost);
  };
  std::visit(
      Overloaded{
          [&](const OneOf<record::Finished, record::Failed, record::Cancelled, record::Stop,
                          record::StartFailed> auto& what) { lose(what.job, {}); },
          [&](const record::Evicted& evicted) { lose(evicted.job, evicted.lost); },
          [&](const record::Pinned& pinned) { plan_.unpin(pinned.job, plan_.gangs_[pinned.job]); },
          [&](const record::Speed& speed) {
            known_.on_rate(speed.job, speed.rate);
            known_work_.on_rate(speed.job, speed.rate);
          },
          [](const auto&) {},
      },
      record.what);
  tables_.apply(record);
  std::visit(
      Overloaded{
          [&](const record::Arrived& arrived) {
            add_job(arrived.asked.job);
            known_work_.on_arrived(arrived.asked.job, arrived.asked.work);
          },
          [&](const record::Rejected& rejected) { add_job(rejected.asked.job); },
          [&](const record::Node&) {
            if (!plan_.free_.has(NodeId(tables_.cluster.nodes() - 1))) plan_.free_.add_node();
            known_.add_node();
          },
          [&](const record::Place& place) {
            for (Slice slice : place.gang) plan_.free_.take(slice.node, slice.gpus);
            plan_.count_room(place.job, place.gang, true);
            plan_.gangs_[place.job] = jobs_.last[place.job];
            plan_.pin(place.job, jobs_.last[place.job]);
            known_.on_run_begin(place.job, place.gang, place.rate);
            if (!place.is_reported) known_.on_start(place.job, place.gang, place.overhead);
            known_work_.on_run_begin(place.job, place.rate, place.overhead);
          },
          [&](const record::Started& started) {
            known_.on_start(started.job, jobs_.last_gang(started.job), {});
          },
          [&](const record::Reported& what) { known_work_.on_report(what.job, what.left); },
          [&](const record::Carried& what) { known_work_.on_carried(what.job, what.done); },
          [&](const record::Finished& finished) { known_work_.on_finished(finished.job); },
          [&](const record::Forgotten& forgotten) {
            known_.forget(forgotten.user, tables_.model_named(forgotten.model));
          },
          [&](const record::Profiled& what) { known_.see_profile(what.job, what.profile); },
          [&](const record::Pinned& pinned) { plan_.pin(pinned.job, plan_.gangs_[pinned.job]); },
          [&](const record::StartFailed& failed) {
            retries_.push({failed.retry, failed.job});
          },
          [&](const OneOf<record::GpusDown, record::GpusUp, record::Closed,
                          record::Uncordoned> auto& what) {
            const std::uint64_t usable = tables_.nodes[what.node].usable();
            plan_.set_usable(what.node, usable);
            plan_.free_.set_gpus(what.node, static_cast<std::uint32_t>(std::popcount(usable)));
          },
          [](const auto&) {},
      },
      record.what);
}

// Stops all running jobs and reports every job as an arrival, for a policy that does not know them.
void Engine::tell_all_jobs() {
  restarts_policy_ = false;
  wakes_ = {};
  std::vector<JobId> running(tables_.running.members().begin(), tables_.running.members().end());
  std::ranges::sort(running);
  for (JobId job : running) stop_now(job, StopCause::kRestart);
  std::vector<JobId> waiting(tables_.waiting.members().begin(), tables_.waiting.members().end());
  std::ranges::sort(waiting);
  news_.clear();
  for (JobId job : waiting) news_.push_back({.kind = EventKind::kArrived, .job = job});
}

}  // namespace fairlead
