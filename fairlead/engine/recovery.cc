#include "fairlead/engine/recovery.h"

#include "fairlead/base/archive.h"
#include "fairlead/base/overloaded.h"
#include "fairlead/model/step.h"
#include "fairlead/model/task_limits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace fairlead {

std::string_view RecordedRun::keep(std::string_view text) { return texts_.emplace_back(text); }

void RecordedRun::on(const Record& record) {
  Record& kept = records_.emplace_back(record);
  const auto keep_text = [&](std::string_view text) { return keep(text); };
  std::visit(
      Overloaded{
          [&](record::Run& run) {
            for (std::string_view* text : {&run.policy, &run.options, &run.cluster, &run.trace}) {
              *text = keep(*text);
            }
            run.gpu_types = gpu_types_.emplace_back(run.gpu_types.begin(), run.gpu_types.end());
          },
          [&](OneOf<record::Group, record::User, record::Node> auto& what) {
            what.name = keep(what.name);
          },
          [&](OneOf<record::Arrived, record::Unsubmitted> auto& what) {
            what.asked.keep_texts(keep_text);
          },
          [&](record::Rejected& rejected) {
            rejected.asked.keep_texts(keep_text);
            rejected.reason = keep(rejected.reason);
          },
          [&](OneOf<record::Failed, record::Cancelled, record::StopFailed, record::StartFailed,
                    record::Cordoned> auto& what) { what.reason = keep(what.reason); },
          [&](record::Forgotten& forgotten) { forgotten.model = keep(forgotten.model); },
          [&](record::Place& place) {
            place.gang = gangs_.emplace_back(place.gang.begin(), place.gang.end());
            place.gpu_masks = masks_.emplace_back(place.gpu_masks.begin(), place.gpu_masks.end());
          },
          [&](record::Snapshot& snapshot) {
            snapshot.policy = keep(snapshot.policy);
            snapshot.options = keep(snapshot.options);
            snapshot.state = states_.emplace_back(snapshot.state.begin(), snapshot.state.end());
            snapshot.wakes = wakes_.emplace_back(snapshot.wakes.begin(), snapshot.wakes.end());
          },
          [](auto&) {},
      },
      kept.what);
}

void RecordedRun::drop_last_instant() {
  if (records_.empty()) return;
  const Time last = records_.back().t;
  while (!records_.empty() && records_.back().t == last) records_.pop_back();
}

namespace {

using Records = std::span<const Record>;

// The records of the first instant of `records`.
Records first_instant(Records records) {
  std::size_t size = 0;
  while (size < records.size() && records[size].t == records.front().t) ++size;
  return records.first(size);
}

template <class What>
bool is(const Record& record) {
  return std::holds_alternative<What>(record.what);
}

bool is_step(const Record& record) { return is<record::Stop>(record) || is<record::Place>(record); }

// Returns true for records without an effect in the world: ignored events and snapshots.
bool is_aside(const Record& record) {
  return is<record::Ignored>(record) || is<record::Snapshot>(record);
}

// If the world reports speeds itself, the speeds after the last step are effects of the steps.
std::size_t end_of_events(Records instant) {
  std::size_t end = instant.size();
  while (end > 0 && !is_step(instant[end - 1])) --end;
  return end == 0 ? instant.size() : end;
}

// The world as the journal recorded it, instant by instant. If it drives the world in which the run
// continues, that world carries out all steps again.
class RecordedWorld : public Backend {
 public:
  RecordedWorld(Backend& world, bool drives) : world_(world), drives_(drives) {}

  // The journal's instants before are over; the next wait() is about this one.
  void set(Records instant, Records next = {}) {
    instant_ = instant;
    // A world with exact steps reports speeds by expect() alone.
    effects_ = world_.reports_steps() ? end_of_events(instant) : 0;
    next_ = next;
    is_told_ = false;
  }
  // Counts runs, and brings the world along, as wait() and the rest would.
  void pass(Records instant) {
    set(instant);
    const Time now = instant.front().t;
    collect();
    bring_along(now);
    std::vector<Step> steps;
    for (const Record& record : instant) {
      if (const auto* stop = std::get_if<record::Stop>(&record.what)) {
        Step step;
        step.job = stop->job;
        step.run = runs_[stop->job];
        steps.push_back(step);
      } else if (const auto* place = std::get_if<record::Place>(&record.what)) {
        Step step;
        step.kind = Step::Kind::kPlace;
        step.job = place->job;
        step.run = place->copy == 0 ? ++runs_[place->job] : runs_[place->job];
        step.place = place->kind;
        step.copy = place->copy;
        step.gang = place->gang;
        step.gpu_masks = place->gpu_masks;
        if (place->copy > 0) {
          for (Step& other : steps) {
            if (other.kind == Step::Kind::kPlace && other.job == step.job) ++other.copies;
          }
        }
        step.copies = step.copy + 1;
        steps.push_back(step);
      }
    }
    if (!drives_) return;
    world_.expect(now, steps);
    if (!steps.empty()) world_.carry_out(now, steps);
  }

  Batch wait(Time until, bool /*awaited*/) override {
    const Time now = instant_.empty() ? Time::never() : instant_.front().t;
    if (is_told_ || now > until) {
      bring_along(until);
      return {.now = until, .present = until};
    }
    is_told_ = true;
    collect();
    bring_along(now);
    const bool skips = !next_.empty() && is<record::Skipped>(next_.front());
    return {.now = now,
            .present = skips ? next_.front().t : Time{},
            .groups = groups_,
            .users = users_,
            .nodes = nodes_,
            .jobs = jobs_,
            .events = events_};
  }

  // Limits that change were others at the time of the journal.
  const TaskLimits* task_limits() const override {
    const TaskLimits* const limits = world_.task_limits();
    return limits != nullptr && limits->is_lasting() ? limits : nullptr;
  }

  std::span<const SpeedChange> expect(Time now, std::span<Step> steps) override {
    if (drives_) world_.expect(now, steps);
    speeds_.clear();
    for (std::size_t i = 0; i < instant_.size(); ++i) {
      if (const auto* place = std::get_if<record::Place>(&instant_[i].what)) {
        for (Step& step : steps) {
          const bool is_it = step.kind == Step::Kind::kPlace && step.job == place->job;
          if (!is_it || step.copy != place->copy) continue;
          step.rate = place->rate;
          step.overhead = place->overhead;
          step.locality = place->locality;
        }
      }
      const auto* speed = std::get_if<record::Speed>(&instant_[i].what);
      if (speed != nullptr && is_effect(i)) speeds_.push_back({speed->job, speed->rate});
    }
    for (const Step& step : steps) runs_[step.job] = step.run;
    return speeds_;
  }
  void carry_out(Time now, std::span<const Step> steps) override {
    if (drives_) world_.carry_out(now, steps);
  }
  bool reports_steps() const override { return world_.reports_steps(); }
  // The GPUs that the world did not choose.
  std::uint64_t last_choice(JobId job, NodeId node) const override {
    std::uint64_t chosen = 0;
    for (const Record& record : instant_) {
      const auto* place = std::get_if<record::Place>(&record.what);
      if (place == nullptr || place->job != job) continue;
      std::size_t i = 0;
      for (Slice slice : place->gang) {
        const std::uint64_t mask = place->gpu_masks[i++];
        if (slice.node == node) chosen |= mask;
      }
    }
    return ~chosen;
  }
  const ExactWork* exact_work() const override { return world_.exact_work(); }

 private:
  // The result of expect(), and no event.
  bool is_effect(std::size_t i) const { return i >= effects_ && is<record::Speed>(instant_[i]); }
  void bring_along(Time now) {
    if (!drives_) return;
    while (!world_.wait(now, true).events.empty()) {
    }
  }

  // The events of the instant.
  void collect() {
    groups_.clear();
    users_.clear();
    nodes_.clear();
    jobs_.clear();
    events_.clear();
    for (std::size_t i = 0; i < instant_.size(); ++i) {
      if (!is_effect(i)) std::visit([&](const auto& what) { add(what); }, instant_[i].what);
    }
  }
  void add_job(EventKind kind, JobId job) {
    events_.push_back({.kind = kind, .job = job, .run = runs_[job]});
  }
  void add(const record::Group& group) {
    groups_.push_back({group.group, group.name, group.tickets, group.quota});
  }
  void add(const record::User& user) {
    users_.push_back({user.user, user.name, user.tickets, user.group});
  }
  void add(const record::Node& node) {
    nodes_.push_back({node.node, {node.name, node.type, node.host, node.rack, node.gpus}});
  }
  void add(const OneOf<record::Arrived, record::Rejected> auto& what) {
    events_.push_back({.kind = EventKind::kArrived, .job = what.asked.job});
    jobs_.push_back(what.asked);
  }
  void add(const record::Finished& finished) { add_job(EventKind::kFinished, finished.job); }
  void add(const record::Failed& failed) {
    add_job(EventKind::kFailed, failed.job);
    events_.back().reason = failed.reason;
  }
  void add(const record::Cancelled& cancelled) {
    add_job(EventKind::kCancelled, cancelled.job);
    events_.back().reason = cancelled.reason;
  }
  void add(const record::Held& held) { add_job(EventKind::kHeld, held.job); }
  void add(const record::Released& released) { add_job(EventKind::kReleased, released.job); }
  void add(const record::Evicted& evicted) {
    add_job(EventKind::kEvicted, evicted.job);
    events_.back().lost = evicted.lost;
  }
  void add(const record::Started& started) {
    add_job(EventKind::kStarted, started.job);
    events_.back().overhead = started.overhead;
  }
  void add(const record::StartFailed& failed) {
    add_job(EventKind::kStartFailed, failed.job);
    events_.back().reason = failed.reason;
  }
  void add(const record::Stopped& stopped) {
    add_job(EventKind::kStopped, stopped.job);
    events_.back().run = stopped.run;
  }
  void add(const record::StopFailed& failed) {
    add_job(EventKind::kStopFailed, failed.job);
    events_.back().run = failed.run;
    events_.back().reason = failed.reason;
  }
  void add(const record::Speed& speed) {
    add_job(EventKind::kProgress, speed.job);
    events_.back().rate = speed.rate;
  }
  void add(const record::Reported& reported) {
    add_job(EventKind::kReported, reported.job);
    events_.back().left = reported.left;
  }
  void add(const record::GpusDown& down) {
    events_.push_back({.kind = EventKind::kGpusDown, .node = down.node, .gpus = down.gpus});
  }
  void add(const record::GpusUp& up) {
    events_.push_back({.kind = EventKind::kGpusUp, .node = up.node, .gpus = up.gpus});
  }
  void add(const record::Cordoned& cordoned) {
    events_.push_back({.kind = EventKind::kCordoned, .node = cordoned.node});
    events_.back().reason = cordoned.reason;
  }
  void add(const record::Uncordoned& uncordoned) {
    events_.push_back({.kind = EventKind::kUncordoned, .node = uncordoned.node});
  }
  void add(const record::Tickets& tickets) {
    events_.push_back(
        {.kind = EventKind::kTickets, .user = tickets.user, .tickets = tickets.tickets});
  }
  void add(const record::Pinned& pinned) {
    add_job(EventKind::kPinned, pinned.job);
    events_.back().is_pinned = pinned.is_pinned;
  }
  void add(const record::Profiled& profiled) {
    add_job(EventKind::kProfiled, profiled.job);
    events_.back().profile = profiled.profile;
  }
  void add(const record::Forgotten& forgotten) {
    events_.push_back({.kind = EventKind::kForgotten, .user = forgotten.user});
    events_.back().model = forgotten.model;
  }
  void add(const record::Charged& charged) {
    events_.push_back({.kind = EventKind::kCharged,
                       .node = charged.node,
                       .user = charged.user,
                       .attained = charged.attained});
  }
  void add(const auto& /*what the engine writes of itself*/) {}

  Backend& world_;
  const bool drives_;
  Records instant_;
  std::size_t effects_ = 0;  // the position of the first speed that is not an event
  Records next_;             // the records after the instant
  bool is_told_ = false;
  std::map<JobId, RunId> runs_;
  std::vector<GroupSpec> groups_;
  std::vector<UserSpec> users_;
  std::vector<NodeJoin> nodes_;
  std::vector<JobSpec> jobs_;
  std::vector<Event> events_;
  std::vector<SpeedChange> speeds_;
};

// Removes the cause of a policy's stop, because older versions recorded none.
Record without_cause(const Record& record) {
  Record same = record;
  if (auto* stop = std::get_if<record::Stop>(&same.what); stop && !is_by_user(stop->cause)) {
    stop->cause = StopCause::kPolicy;
  }
  return same;
}

// Compares the records of the engine with the journal's records of the instant.
class Comparison : public RecordSink {
 public:
  void on(const Record& record) override {
    if (is_aside(record)) return;
    written_.clear();
    encode_record(written_, without_cause(record), record.t);
    for (; at_ < instant_.size() && is_aside(instant_[at_]); ++at_) {
    }
    if (at_ < instant_.size() && record.t == instant_[at_].t) {
      expected_.clear();
      encode_record(expected_, without_cause(instant_[at_]), instant_[at_].t);
      if (written_.bytes() == expected_.bytes()) {
        ++at_;
        return;
      }
    }
    differs_ = true;
  }
  void set(Records instant) {
    instant_ = instant;
    at_ = 0;
  }
  bool agrees() {
    for (; at_ < instant_.size() && is_aside(instant_[at_]); ++at_) {
    }
    return !differs_ && at_ == instant_.size();
  }

 private:
  Records instant_;
  std::size_t at_ = 0;
  bool differs_ = false;
  Writer written_;
  Writer expected_;
};

// The number of records up to the last snapshot that the policy can load, that included; 0: none.
std::size_t end_of_snapshot(Records records, std::string_view name, std::string_view options) {
  for (std::size_t i = records.size(); i > 0; --i) {
    const auto* snapshot = std::get_if<record::Snapshot>(&records[i - 1].what);
    if (snapshot == nullptr) continue;
    return snapshot->policy == name && snapshot->options == options ? i : 0;
  }
  return 0;
}

// Lets the engine live through an instant once more. Instants at which nothing was journalled come
// first: those of wake-ups. `next`: all that follows.
Status replay(Engine& engine, RecordedWorld& world, Comparison& comparison, Records instant,
              Records next) {
  const Time t = instant.front().t;
  if (std::ranges::all_of(instant, is_aside)) {
    world.set({});
    comparison.set({});
    while (engine.next_wake() <= t) FL_TRY(engine.step());
    for (const Record& record : instant) engine.restore(record);
    return {};
  }
  world.set(instant, next);
  comparison.set(instant);
  while (engine.now() < t) {
    FL_TRY_ASSIGN(goes_on, engine.step());
    if (!goes_on) break;
  }
  return {};
}

}  // namespace

Result<Recovery> recover(Engine& engine, const RecordedRun& run, std::string_view policy_options,
                         Policy& policy, Backend& world, bool drives, bool replays) {
  const Records records = run.records();
  std::size_t loaded = replays ? end_of_snapshot(records, policy.name(), policy_options) : 0;
  Recovery recovery;
  if (loaded > 0) {
    const auto& snapshot = std::get<record::Snapshot>(records[loaded - 1].what);
    Reader reader({snapshot.state.data(), snapshot.state.size()});
    load(policy, reader);
    engine.restore_budget(reader);
    if (!reader.ok() || reader.left() > 0) {
      return run_error("policy {} cannot load its snapshot of {} s", policy.name(),
                       to_seconds(records[loaded - 1].t));
    }
    engine.restore_wakes(snapshot.wakes);
    recovery.policy = PolicyRecovery::kReplayed;
  } else {
    recovery.why = replays ? "the journal has no snapshot of this policy with these options"
                           : "its decisions would differ from the journal";
    loaded = records.size();
  }
  RecordedWorld recorded(world, drives);
  Comparison comparison;
  for (Records left = records.first(loaded); !left.empty();) {
    const Records instant = first_instant(left);
    for (const Record& record : instant) engine.restore(record);
    recorded.pass(instant);
    left = left.subspan(instant.size());
  }
  if (recovery.policy == PolicyRecovery::kRestarted) engine.restart_policy();
  // If the snapshot was taken just before a skip, the world was known to be that far ahead.
  const Records rest = records.subspan(loaded);
  const bool skips = !rest.empty() && is<record::Skipped>(rest.front());
  engine.replace_world(recorded, comparison, skips ? rest.front().t : Time{});
  for (Records left = rest; !left.empty();) {
    const Records instant = first_instant(left);
    left = left.subspan(instant.size());
    FL_TRY(replay(engine, recorded, comparison, instant, left));
    if (!comparison.agrees()) {
      return run_error("policy {} decides otherwise at {} s than the journal records",
                       policy.name(), to_seconds(instant.front().t));
    }
  }
  return recovery;
}

}  // namespace fairlead
