#include "fairlead/engine/engine_state.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/model/step.h"

#include <utility>

namespace fairlead {

EngineState::EngineState(Cluster cluster, const Speed* speed, const Needs& needs, Backend& backend,
                         RecordSink& sink, const EngineOptions& options)
    : tables(std::move(cluster)),
      speeds(speed, tables.cluster, tables.jobs, needs.rates, options.profiles),
      work(tables.jobs, backend.exact_work(), needs.work.best, options.work),
      plan(tables.cluster, tables.jobs),
      world(&backend),
      journal(&sink) {
  tables.jobs.limits = backend.task_limits();
  tables.reserve(options.jobs);
  plan.reserve(options.jobs);
  speeds.reserve(options.jobs);
}

void EngineState::set_now(Time time) {
  now = time;
  speeds.set_now(time);
  work.set_now(time);
}

void EngineState::replace_world(Backend& backend, RecordSink& sink) {
  world = &backend;
  tables.jobs.limits = backend.task_limits();
  journal = &sink;
}

void EngineState::add_job(JobId job) {
  plan.add_job(job);
  if (tables.needs_gpus(job)) speeds.add_job(job);
}

void EngineState::declare_work(JobId job, Duration declared) {
  if (tables.needs_gpus(job)) work.on_arrived(job, declared);
}

void EngineState::finish_work(JobId job) {
  if (tables.needs_gpus(job)) work.on_finished(job);
}

void EngineState::add_node() {
  plan.add_node();
  speeds.add_node();
}

void EngineState::refresh_capacity(NodeId node) {
  plan.set_usable(node, tables.nodes[node].usable());
}

void EngineState::forget_run(JobId job, Duration lost) {
  if (!tables.needs_gpus(job)) return;
  plan.lose_gang(job);
  speeds.on_run_end(job);
  work.on_run_end(job, lost);
}

void EngineState::lose_run(JobId job, Duration lost) {
  forget_run(job, lost);
  if (tables.needs_gpus(job))
    standstill.on_run_end(job, tables.jobs.works_from[job], now, lost, true);
}

void EngineState::stop_run(JobId job) {
  standstill.on_run_end(job, tables.jobs.works_from[job], now, {}, false);
  speeds.on_run_end(job);
  work.on_run_end(job);
}

void EngineState::begin_run(const record::Place& place) {
  if (place.gang.empty()) return;
  speeds.on_run_begin(place.job, place.gang, place.rate);
  if (!place.is_reported) speeds.on_start(place.job, place.gang, place.overhead);
  work.on_run_begin(place.job, place.rate, place.overhead);
}

void EngineState::start_run(JobId job) {
  if (tables.needs_gpus(job)) speeds.on_start(job, tables.jobs.last_gang(job), {});
}

void EngineState::change_speed(JobId job, Rate rate) {
  speeds.on_rate(job, rate);
  work.on_rate(job, rate);
  log(record::Speed{job, rate});
}

void EngineState::change_pinned(JobId job, bool is_pinned) {
  plan.unpin(job);
  log(record::Pinned{job, is_pinned});
  plan.pin(job);
}

void EngineState::restore(const Record& record) {
  set_now(record.t);
  restore_before(record);
  tables.apply(record);
  restore_after(record);
}

// Applies the ends of runs, and other changes that must precede the record's in the tables.
void EngineState::restore_before(const Record& record) {
  const auto lose = [&](JobId job, Duration lost) {
    if (tables.jobs.state[job] == JobState::kRunning) forget_run(job, lost);
  };
  std::visit(Overloaded{
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled, record::Stop,
                                 record::StartFailed> auto& what) { lose(what.job, {}); },
                 [&](const record::Evicted& evicted) { lose(evicted.job, evicted.lost); },
                 [&](const record::Pinned& pinned) { plan.unpin(pinned.job); },
                 [&](const record::Speed& speed) {
                   speeds.on_rate(speed.job, speed.rate);
                   work.on_rate(speed.job, speed.rate);
                 },
                 [](const auto&) {},
             },
             record.what);
}

void EngineState::restore_after(const Record& record) {
  std::visit(Overloaded{
                 [&](const record::Arrived& arrived) {
                   add_job(arrived.asked.job);
                   declare_work(arrived.asked.job, arrived.asked.work);
                 },
                 [&](const record::Rejected& rejected) { add_job(rejected.asked.job); },
                 [&](const record::Node&) { add_node(); },
                 [&](const record::Place& place) {
                   plan.take(place.job, place.gang);
                   keep_gang(place.job);
                   begin_run(place);
                 },
                 [&](const record::Started& started) { start_run(started.job); },
                 [&](const record::Reported& what) { work.on_report(what.job, what.left); },
                 [&](const record::Carried& what) { work.on_carried(what.job, what.done); },
                 [&](const record::Finished& finished) { finish_work(finished.job); },
                 [&](const record::Forgotten& forgotten) {
                   speeds.forget(forgotten.user, tables.model_named(forgotten.model));
                 },
                 [&](const record::Profiled& what) { speeds.see_profile(what.job, what.profile); },
                 [&](const record::Pinned& pinned) { plan.pin(pinned.job); },
                 [&](const OneOf<record::GpusDown, record::GpusUp, record::Closed,
                                 record::Uncordoned> auto& what) { refresh_capacity(what.node); },
                 [](const auto&) {},
             },
             record.what);
}

}  // namespace fairlead
