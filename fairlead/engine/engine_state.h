// The state of an engine: the tables, and everything else that records change. This is the knowledge of speeds and
// work, the gangs in the policy's plan, and the signs of a standstill.
//
// log() is the one way in which a run changes the tables, and restore() does the same in recovery. The functions between
// them keep the rest in step. Each of them: O(1), or O(slices) if a run begins or ends. A job that needs no GPU is in the
// tables alone.
#pragma once

#include "fairlead/engine/backend.h"
#include "fairlead/engine/engine_options.h"
#include "fairlead/engine/engine_plan.h"
#include "fairlead/engine/standstill.h"
#include "fairlead/engine/tables.h"
#include "fairlead/journal/journal.h"
#include "fairlead/model/known_speed.h"
#include "fairlead/model/known_work.h"
#include "fairlead/policy/policy.h"

#include <cstdint>

namespace fairlead {

struct EngineCounts {
  std::int64_t decisions = 0;
  std::int64_t events = 0;
  std::int64_t steps = 0;
  std::int64_t ignored = 0;  // events
  std::int64_t skips = 0;    // of wake-ups, because the world was too far ahead
  Duration late_max;         // how far the world's clock was ahead of an instant, at most
};

struct EngineState {
  // The world, the journal and `speed` must outlive the state. `speed`: null if policies know nothing beforehand.
  EngineState(Cluster cluster, const Speed* speed, const Needs& needs, Backend& backend,
              RecordSink& sink, const EngineOptions& options);

  void set_now(Time time);
  void replace_world(Backend& backend, RecordSink& sink);

  template <class What>
  void log(const What& what) {
    tables.apply(now, what);
    standstill.on_record();
    journal->on({now, what});
  }

  // Called after the job's record, Arrived or Rejected.
  void add_job(JobId job);
  // Called after the arrival of a job with a declared duration, and after its good end.
  void declare_work(JobId job, Duration declared);
  void finish_work(JobId job);
  // Called after the record of a node, the last of the cluster.
  void add_node();
  // Called after the record by which GPUs of the node came into service, or left it.
  void refresh_capacity(NodeId node);
  // Called before the record by which the tables lose the run, if the world or a user takes its GPUs. `lost`:
  // running time at its end whose work is lost.
  void lose_run(JobId job, Duration lost = {});
  // Called before the record of a stop by the policy, whose plan has taken the gang away.
  void stop_run(JobId job);
  // Called for the record of each place, once for each copy.
  void begin_run(const record::Place& place);
  // Called after the record of a start that the world reports.
  void start_run(JobId job);
  // Called after the record of the place, once for each copy: the plan refers to the tables' gang.
  void keep_gang(JobId job) { plan.set_gang(job, tables.jobs.last[job]); }
  // Both log the change as well.
  void change_speed(JobId job, Rate rate);
  void change_pinned(JobId job, bool is_pinned);

  // Applies a record of an earlier journal; neither the journal nor the signs of a standstill get it.
  // REQUIRES: records of one run, in order, from the first.
  void restore(const Record& record);

  Time now;  // the instant
  Tables tables;
  KnownSpeed speeds;
  KnownWork work;
  EnginePlan plan;
  Standstill standstill;
  EngineCounts counts;
  Backend* world;
  RecordSink* journal;

 private:
  void forget_run(JobId job, Duration lost);
  void restore_before(const Record& record);
  void restore_after(const Record& record);
};

// Returns whether a job is here.
inline bool has_jobs(const Tables& tables) {
  return !tables.running.members().empty() || !tables.waiting.members().empty() ||
         !tables.running_without_gpus.members().empty() ||
         !tables.waiting_without_gpus.members().empty() || !tables.held_until.empty();
}

}  // namespace fairlead
