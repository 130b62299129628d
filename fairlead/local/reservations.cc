#include "fairlead/local/reservations.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>
#include <bit>

namespace fairlead {

Status Reservations::load() {
  FL_TRY(book_.load());
  is_due_ = !book_.all().empty();
  return {};
}

Result<ReservationBook::Added> Reservations::add(const ReservationBook::Asked& asked) {
  is_due_ = true;
  return book_.add(asked);
}

Result<bool> Reservations::cancel(std::uint32_t id) {
  is_due_ = true;
  return book_.cancel(id);
}

Reservations::State Reservations::state(const Reservation& one, Time now) const {
  const auto unused = unused_since_.find(one.id);
  if (unused == unused_since_.end()) return State::kPlanned;
  const bool is_lent = unused->second != Time::never() && now - unused->second >= kUnused;
  return is_lent ? State::kLent : State::kInForce;
}

void Reservations::on(const Record& record) {
  if (unused_since_.empty()) return;
  std::visit(Overloaded{
                 [&](const OneOf<record::Arrived, record::Finished, record::Failed,
                                 record::Cancelled, record::Held, record::Released, record::Evicted,
                                 record::Place, record::Stop, record::GpusDown, record::GpusUp,
                                 record::Closed, record::Uncordoned> auto&) { is_due_ = true; },
                 [](const auto&) {},
             },
             record.what);
}

void Reservations::update(Time now) {
  if (now < deadline()) return;
  is_due_ = false;
  release();
  book_.end(io_.unix_ms(now));
  note_use(now);
  std::vector<Reservation> in_force;
  for (const Reservation& one : book_.all()) {
    if (state(one, now) == State::kInForce) in_force.push_back(one);
  }
  const bool is_same =
      std::ranges::equal(in_force, in_force_, {}, &Reservation::id, &Reservation::id);
  if (!is_same) {
    in_force_ = std::move(in_force);
    offers_.clear();
    limited_.clear();
  }
  const bool has_changed = limit_nodes(!is_same) || !is_same;
  has_changed_ = has_changed_ || has_changed;
  limit_jobs();
  hold_pinned();
  hold_excess();
  if (has_changed) conditions_.on_limits();
}

Time Reservations::deadline() const {
  if (is_due_ || !held_.empty()) return Time{};
  Time next = Time::never();
  for (const Reservation& one : book_.all()) {
    const auto unused = unused_since_.find(one.id);
    const bool has_started = unused != unused_since_.end();
    next = std::min(next, time_of(has_started ? one.to_ms : one.from_ms));
    const bool is_in_force =
        std::ranges::find(in_force_, one.id, &Reservation::id) != in_force_.end();
    if (is_in_force && unused->second != Time::never())
      next = std::min(next, unused->second + kUnused);
  }
  return next;
}

Time Reservations::time_of(std::int64_t unix_ms) const {
  return Time{std::max<std::int64_t>(0, unix_ms - io_.unix_ms(Time{}))};
}

// --- Holders ----------------------------------------------------------------------------------

const Reservations::Account& Reservations::account(const Submission& what) {
  const auto [found, is_new] = accounts_.try_emplace({what.uid, what.gid});
  if (is_new) found->second = {io_.user_name(what.uid), io_.group_names(what.uid, what.gid)};
  return found->second;
}

bool Reservations::is_holder(const Reservation& one, const Submission& what) {
  const Account& of = account(what);
  if (!one.is_group) return of.user == one.holder;
  return std::ranges::find(of.groups, one.holder) != of.groups.end();
}

// Returns the reservations in force of which the job is a holder's.
Reservations::Sets Reservations::own(const Submission& what) {
  Sets own = 0;
  for (std::size_t i = 0; i < in_force_.size(); ++i) {
    if (is_holder(in_force_[i], what)) own |= Sets{1} << i;
  }
  return own;
}

bool Reservations::wants_gpus(JobId job) const {
  if (!tables_.jobs.has(job)) return false;  // it comes with the next batch
  const JobState state = tables_.jobs.state[job];
  return tables_.needs_gpus(job) && (state == JobState::kWaiting || state == JobState::kRunning);
}

// Notes which reservations have started, and since when no job of their holders wants GPUs.
void Reservations::note_use(Time now) {
  const std::int64_t unix_ms = io_.unix_ms(now);
  std::map<std::uint32_t, Time> unused_since;
  for (const Reservation& one : book_.all()) {
    if (!one.is_at(unix_ms)) continue;
    const auto before = unused_since_.find(one.id);
    if (before == unused_since_.end()) accounts_.clear();  // members of groups are looked up again
    const bool is_used = std::ranges::any_of(jobs_.all(), [&](const auto& entry) {
      return wants_gpus(entry.first) && is_holder(one, entry.second.what);
    });
    Time since = now;
    if (is_used) {
      since = Time::never();
    } else if (before == unused_since_.end()) {
      // A daemon that starts again lends a reservation that began long ago.
      if (unix_ms - one.from_ms >= kUnused.ms) since = now - kUnused;
    } else if (before->second != Time::never()) {
      since = before->second;
    }
    unused_since[one.id] = since;
  }
  unused_since_ = std::move(unused_since);
}

// --- Limits -----------------------------------------------------------------------------------

// Returns the GPUs of the node that are left for the jobs of others than the holders of the set.
std::int64_t Reservations::offer(NodeId node, Sets set) const {
  std::int64_t left = std::popcount(tables_.nodes[node].usable());
  for (std::size_t i = 0; i < in_force_.size(); ++i) {
    const auto found = in_force_[i].gpus.find(node);
    if ((set >> i & 1) != 0 && found != in_force_[i].gpus.end()) left -= found->second;
  }
  return left;
}

bool Reservations::limit_nodes(bool is_other) {
  const Sets sets = Sets{1} << in_force_.size();
  bool has_changed = false;
  for (NodeId node : ids<NodeId>(tables_.cluster.nodes())) {
    std::vector<std::int64_t> amounts;
    for (Sets set = 1; set < sets; ++set) {
      limits_.set_name(resource_of(set), TaskResource::kReserved);
      amounts.push_back(offer(node, set));
    }
    if (!is_other && (sets == 1 || offers_[node] == amounts)) continue;
    offers_[node] = amounts;
    limits_.set_offer(node, std::move(amounts));
    inbox_.add({.kind = EventKind::kRoomUp, .node = node});
    has_changed = true;
  }
  return has_changed;
}

void Reservations::limit_jobs() {
  if (in_force_.empty()) offers_.clear();
  std::set<JobId> gone = std::exchange(known_, {});
  const Sets sets = Sets{1} << in_force_.size();
  for (const auto& [id, job] : jobs_.all()) {
    const bool is_over = tables_.jobs.has(id) && !tables_.jobs.is_here(id);
    if (in_force_.empty() || is_over) continue;
    gone.erase(id);
    known_.insert(id);
    const std::uint32_t task = tables_.jobs.has(id) ? tables_.jobs.task_gpus[id] : 1;
    const std::pair limited(own(job.what), task);
    const auto [found, is_new] = limited_.try_emplace(id, limited);
    if (!is_new && found->second == limited) continue;
    found->second = limited;
    std::vector<TaskNeed> needs;
    for (Sets set = 1; set < sets; ++set) {
      if ((set & limited.first) == 0) needs.push_back({resource_of(set), task});
    }
    limits_.set_needs(id, (task << ReservationBook::kAtOnceMax | limited.first) + 1, needs);
  }
  for (const JobId id : gone) {
    limits_.forget(id);
    limited_.erase(id);
  }
}

// Holds the pinned jobs that are in the way of holders, and releases the others.
void Reservations::hold_pinned() {
  const std::set<JobId> before = std::exchange(in_the_way_, pinned_in_the_way());
  for (const JobId job : in_the_way_)
    conditions_.set_has_room(job, StartConditions::Room::kReserved, false);
  for (const JobId job : before) {
    if (!in_the_way_.contains(job))
      conditions_.set_has_room(job, StartConditions::Room::kReserved, true);
  }
}

// Returns the pinned jobs with GPUs that are for the pinned jobs of others.
std::set<JobId> Reservations::pinned_in_the_way() const {
  const Jobs& jobs = tables_.jobs;
  std::set<JobId> in_the_way;
  for (std::size_t holder = 0; holder < in_force_.size(); ++holder) {
    const IdVector<NodeId, std::uint64_t> reserved = gpus_of_pinned(holder);
    for (const auto& [id, limited] : limited_) {
      if (!jobs.has(id) || !jobs.is_pinned(id) || (limited.first >> holder & 1) != 0) continue;
      const auto masks = jobs.gangs.gpu_masks(jobs.last[id]);
      for (std::size_t i = 0; i < masks.size(); ++i) {
        if ((reserved[jobs.last_gang(id)[i].node] & masks[i]) != 0) in_the_way.insert(id);
      }
    }
  }
  return in_the_way;
}

// Returns the GPUs of pinned jobs of a holder, by node: as many as are reserved, of running jobs first.
IdVector<NodeId, std::uint64_t> Reservations::gpus_of_pinned(std::size_t holder) const {
  const Jobs& jobs = tables_.jobs;
  std::vector<std::pair<bool, JobId>> pinned;  // waits, job
  for (const auto& [id, limited] : limited_) {
    if ((limited.first >> holder & 1) != 0 && wants_gpus(id) && jobs.is_pinned(id))
      pinned.emplace_back(jobs.state[id] != JobState::kRunning, id);
  }
  std::ranges::sort(pinned);
  IdVector<NodeId, std::uint64_t> gpus;
  gpus.resize(tables_.cluster.nodes());
  for (const auto& [waits, id] : pinned) {
    const auto masks = jobs.gangs.gpu_masks(jobs.last[id]);
    for (std::size_t i = 0; i < masks.size(); ++i) {
      const NodeId node = jobs.last_gang(id)[i].node;
      const auto reserved = in_force_[holder].gpus.find(node);
      const std::uint64_t with = gpus[node] | masks[i];
      if (reserved != in_force_[holder].gpus.end() &&
          std::cmp_less_equal(std::popcount(with), reserved->second))
        gpus[node] = with;
    }
  }
  return gpus;
}

// Returns the jobs with GPUs of the node that are not held, the latest first.
std::vector<Reservations::Running> Reservations::running_on(NodeId node) const {
  const Jobs& jobs = tables_.jobs;
  std::vector<Running> running;
  for (const auto& [id, limited] : limited_) {
    if (!jobs.has(id) || jobs.state[id] != JobState::kRunning) continue;
    if (held_.contains(id) || in_the_way_.contains(id)) continue;
    std::int64_t gpus = 0;
    for (Slice slice : jobs.last_gang(id)) gpus += slice.node == node ? slice.gpus : 0;
    if (gpus > 0) running.push_back({id, limited.first, gpus});
  }
  std::ranges::sort(running, std::greater(), [&](const Running& one) {
    return std::pair(jobs.run_since[one.job], one.job);
  });
  return running;
}

// Holds the jobs that came last to GPUs which are no longer for them.
void Reservations::hold_excess() {
  const Sets sets = Sets{1} << in_force_.size();
  for (const auto& [node, amounts] : offers_) {
    if (tables_.cordoned.contains(node)) continue;  // no job gets GPUs that leave there
    std::vector<Running> running = running_on(node);
    for (Sets set = 1; set < sets; ++set) hold_excess_of(set, amounts[resource_of(set)], running);
  }
}

// Holds jobs of others than the holders of the set, until they have no more than the offered GPUs. Takes the held ones
// out of `running`.
void Reservations::hold_excess_of(Sets set, std::int64_t offered, std::vector<Running>& running) {
  std::int64_t excess = -std::max<std::int64_t>(0, offered);
  for (const Running& one : running) excess += (one.own & set) == 0 ? one.gpus : 0;
  std::erase_if(running, [&](const Running& one) {
    if (excess <= 0 || (one.own & set) != 0) return false;
    excess -= one.gpus;
    held_.insert(one.job);
    conditions_.set_has_room(one.job, StartConditions::Room::kReserved, false);
    return true;
  });
}

// Releases the jobs that have left their GPUs.
void Reservations::release() {
  std::erase_if(held_, [&](JobId job) {
    if (tables_.jobs.is_here(job) && tables_.jobs.state[job] != JobState::kHeld) return false;
    if (!in_the_way_.contains(job))
      conditions_.set_has_room(job, StartConditions::Room::kReserved, true);
    return true;
  });
}

}  // namespace fairlead
