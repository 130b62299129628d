#include "fairlead/replay/waits.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/registry.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace fairlead {

std::vector<const Wait*> longest_waits(const JobWaits& job, std::size_t most) {
  std::vector<const Wait*> longest;
  for (const Wait& wait : job.waits) longest.push_back(&wait);
  std::ranges::stable_sort(longest, std::ranges::greater(),
                           [](const Wait* wait) { return wait->to - wait->from; });
  longest.resize(std::min(most, longest.size()));
  std::ranges::sort(longest, {}, [](const Wait* wait) { return wait->from; });
  return longest;
}

namespace {

PlacementTraits traits_of(const record::Run& run) {
  const auto choice = parse_policy(
      run.options.empty() ? std::string(run.policy) : fmt::format("{}:{}", run.policy, run.options),
      0);
  return choice ? choice->entry->traits(choice->options) : PlacementTraits{};
}

std::vector<std::int64_t> difference(std::vector<std::int64_t> now,
                                     const std::vector<std::int64_t>& before) {
  for (std::size_t i = 0; i < before.size(); ++i) now[i] -= before[i];
  return now;
}

// Joins neighbouring pieces with the same cause and the same other job.
std::vector<WaitPiece> joined(const std::vector<WaitPiece>& pieces) {
  std::vector<WaitPiece> out;
  for (const WaitPiece& piece : pieces) {
    const bool joins =
        !out.empty() && out.back().cause() == piece.cause() && out.back().other == piece.other;
    if (joins) out.back().add(piece);
    if (!joins) out.push_back(piece);
  }
  return out;
}

}  // namespace

void Waits::on(const Record& record) {
  if (!status_) return;
  move_on(record.t);
  if (const auto* node = std::get_if<record::Node>(&record.what)) status_ = check(*node);
  if (!status_) return;
  before(record);
  moment_.before(record);
  tables_.apply(record);
  moment_.after(record);
  after(record);
}

Status Waits::check(const record::Node& node) const {
  const Cluster::NodeRow row = {.name = node.name,
                                .type = node.type,
                                .host = node.host,
                                .rack = node.rack,
                                .gpus = node.gpus};
  if (!tables_.cluster.can_add(row))
    return input_error("no cluster can have the node {}", node.name);
  return {};
}

// Advances to `to` in the present state.
void Waits::move_on(Time to) {
  if (to == now_) return;
  for (JobId job : ending_) close_wait(*watched_[job]);
  for (JobId job : leaving_) watched_[job].reset();
  ending_.clear();
  leaving_.clear();
  is_pending_ = false;
  for (JobId job : waiting_) judge(*watched_[job], to);
  placed_.clear();
  if (moment_.has_come()) sums_.pass(moment_.free(), tables_.cluster.type_names.size(), now_, to);
  if (is_pending_) moment_.keep_free();
  now_ = to;
}

// Reads the GPUs that a record takes from a job: they are gone once the record is applied.
void Waits::before(const Record& record) {
  std::visit(Overloaded{
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& what) {
                   lose_gang(what.job);
                   leave(what.job);
                 },
                 [&](const record::Evicted& what) {
                   lose_gang(what.job);
                   begin_wait(what.job, WaitBegin::kEvicted);
                 },
                 [&](const record::StartFailed& what) {
                   lose_gang(what.job);
                   begin_wait(what.job, WaitBegin::kStartFailed);
                 },
                 [&](const record::Stop& what) {
                   lose_gang(what.job);
                   if (what.cause == StopCause::kCancelled) return;
                   begin_wait(
                       what.job,
                       what.cause == StopCause::kHeld ? WaitBegin::kHeldBack : WaitBegin::kStopped,
                       what.cause);
                 },
                 [](const auto&) {},
             },
             record.what);
}

void Waits::after(const Record& record) {
  std::visit(Overloaded{
                 [&](const record::Arrived& arrived) { come(arrived.asked); },
                 [&](const record::Place& place) { on_place(place); },
                 [&](const Note& note) { on_note(note); },
                 [&](const record::Run& run) {
                   label_.policy = run.policy;
                   label_.options = run.options;
                   moment_.set_traits(own_traits_ ? *own_traits_ : traits_of(run));
                 },
                 [&](const record::User&) { users_.push_back({}); },
                 [&](const record::End&) {
                   const std::vector<JobId> pending(waiting_.begin(), waiting_.end());
                   for (JobId job : pending) end_wait(job);
                   for (JobId job : ending_) close_wait(*watched_[job]);
                   ending_.clear();
                 },
                 [](const auto&) {},
             },
             record.what);
}

void Waits::come(const JobSpec& asked) {
  work_.grow_to(asked.job) = asked.work;
  if (!since_.has(asked.job)) since_.resize(asked.job.row() + std::size_t{1}, Time::never());
  watched_.grow_to(asked.job);
  const Watch watch = watches_(asked);
  if (watch != Watch::kNot) {
    watched_[asked.job] = std::make_unique<Watched>(Watched{
        .job = asked.job, .row = jobs_.size(), .details = watch >= Watch::kPieces, .since = now_});
    jobs_.push_back({.job = asked.job});
    if (watch == Watch::kRivals) rivalled_.insert(asked.job);
  }
  begin_wait(asked.job, WaitBegin::kSubmitted);
}

void Waits::begin_wait(JobId job, WaitBegin begin, StopCause cause) {
  since_[job] = now_;
  Watched* watched = watched_[job].get();
  if (watched == nullptr) return;
  const auto ending = std::ranges::find(ending_, job);
  if (ending != ending_.end()) {  // a run started and ended at this moment
    ending_.erase(ending);
    close_wait(*watched);
  }
  watched->since = now_;
  watched->begin = begin;
  watched->cause = cause;
  watched->stopped_for = {};
  watched->pieces.clear();
  watched->unexplained.clear();
  waiting_.insert(job);
}

void Waits::end_wait(JobId job) {
  since_[job] = Time::never();
  if (waiting_.erase(job) > 0) ending_.push_back(job);
}

void Waits::leave(JobId job) {
  end_wait(job);
  if (watched_[job] == nullptr) return;
  rivalled_.erase(job);
  leaving_.push_back(job);
}

void Waits::lose_gang(JobId job) {
  const Tables& tables = tables_;
  if (tables.jobs.state[job] != JobState::kRunning) return;
  const auto masks = tables.jobs.gangs.gpu_masks(tables.jobs.last[job]);
  Watched* watched = watched_[job].get();
  if (watched != nullptr) watched->lost.clear();
  std::size_t i = 0;
  for (Slice slice : tables.jobs.last_gang(job)) {
    const GpuTypeId type = tables.cluster.node_type[slice.node];
    sums_.add_allocated(tables.jobs.user[job], type, -std::int64_t{slice.gpus}, now_);
    if (watched != nullptr) watched->lost.emplace_back(slice.node, masks[i]);
    ++i;
  }
}

void Waits::on_place(const record::Place& place) {
  const JobId job = place.job;
  const Tables& tables = tables_;
  std::size_t i = 0;
  for (Slice slice : place.gang) {
    sums_.add_allocated(tables.jobs.user[job], tables.cluster.node_type[slice.node], slice.gpus,
                        now_);
    const std::uint64_t mask = place.gpu_masks[i++];
    for (JobId other : rivalled_) {
      Watched& watched = *watched_[other];
      const bool took = std::ranges::any_of(watched.lost, [&](const auto& lost) {
        return lost.first == slice.node && (lost.second & mask) != 0;
      });
      if (took && watched.since == now_ && watched.stopped_for.is_none() && other != job)
        watched.stopped_for = job;
    }
  }
  if (place.copy > 0) return;
  const Time since = since_[job];
  placed_.push_back({job, since, is_pending_ && since < now_ && !moment_.fitted(job, since)});
  end_wait(job);
  for (JobId other : rivalled_) {
    if (waiting_.contains(other) && moment_.came_later(job, other))
      jobs_[watched_[other]->row].passed_by.insert(job);
  }
}

void Waits::on_note(const Note& note) {
  const NoteFields fields = fields_of(note);
  if (fields.job.is_none()) {
    if (!users_.has(fields.user)) return;
    users_[fields.user].notes.add(note);
    if (std::holds_alternative<note::Debt>(note)) users_[fields.user].last[note.index()] = fields;
    return;
  }
  Watched* watched = watched_.has(fields.job) ? watched_[fields.job].get() : nullptr;
  if (watched == nullptr) return;
  if (watched->details) watched->notes[note.index()] = fields;
  std::visit(Overloaded{
                 [&](const OneOf<note::NodeTimer, note::RackTimer> auto& timer) {
                   watched->timer = now_ + timer.left;
                 },
                 [&](const note::MadeRoom& made) { watched->stopped_for = made.stopped_for; },
                 [](const auto&) {},
             },
             note);
}

// Returns the largest number of free GPUs on one node.
std::uint32_t Waits::together(TypeMask types) const {
  const FreeIndex& free = moment_.free();
  std::uint32_t most = 0;
  for (GpuTypeId type : ids<GpuTypeId>(tables_.cluster.type_names.size())) {
    if ((types & type_bit(type)) == 0) continue;
    const NodeId node = free.freest(type, free.everywhere());
    if (!node.is_none()) most = std::max(most, free.on(node));
  }
  return most;
}

// Returns the first job that arrived later and was started at this moment; none: there is none.
JobId Waits::later_placed(JobId job) const {
  const auto later = std::ranges::find_if(
      placed_, [&](const Placed& placed) { return moment_.came_later(placed.job, job); });
  return later == placed_.end() ? JobId::none() : later->job;
}

// Judges the present state, which lasts until `to`.
void Waits::judge(Watched& watched, Time to) {
  explain_late(watched);
  std::optional<WhyCause> cause =
      verdict(moment_, users_[tables_.jobs.user[watched.job]].notes,
              {.job = watched.job, .since = watched.since, .timer = watched.timer});
  std::optional<Open>& open = watched.open;
  const bool goes_on = open && open->cause == cause &&
                       (cause || resolved(*open, watched.job).first == WhyCause::kUnexplained);
  if (!goes_on) {
    if (open) close_piece(watched);
    open = Open{.from = now_, .cause = cause, .other = {}, .acted = !placed_.empty(), .sums = {}};
    open->other = later_placed(watched.job);
    if (watched.details) {
      open->sums = sums_.up_to(now_, tables_.jobs.types[watched.job]);
      open->noted = watched.notes;
      open->noted.merge(LastNotes(users_[tables_.jobs.user[watched.job]].last));
    }
  }
  if (watched.details) open->hole = std::max(open->hole, together(tables_.jobs.types[watched.job]));
  is_pending_ |= !cause.has_value() || !watched.unexplained.empty();
  jobs_[watched.row].causes.of(cause.value_or(WhyCause::kUnexplained)) += to - now_;
}

// Returns the cause of a piece in which the job fitted, by the jobs that were started at this moment.
std::pair<WhyCause, JobId> Waits::resolved(const Open& open, JobId job) const {
  const bool is_within_round =
      !open.acted && !placed_.empty() && now_ - open.from <= moment_.traits().round;
  if (is_within_round) {
    if (std::ranges::find(placed_, job, &Placed::job) != placed_.end())
      return {WhyCause::kRound, {}};
    const JobId later = later_placed(job);
    return {later.is_none() ? WhyCause::kRound : WhyCause::kPassed, later};
  }
  for (const Placed& placed : placed_)
    if (placed.lacked_room && placed.job != job) return {WhyCause::kKept, placed.job};
  if (!open.other.is_none()) return {WhyCause::kPassed, open.other};
  return {WhyCause::kUnexplained, {}};
}

// If a job that needs more GPUs, and waited then too, is started now, the GPUs were kept for it.
void Waits::explain_late(Watched& watched) {
  if (watched.unexplained.empty()) return;
  const std::uint32_t gpus = moment_.wanted(watched.job).gpus;
  CauseTimes& causes = jobs_[watched.row].causes;
  for (const Placed& placed : placed_) {
    if (!placed.lacked_room || moment_.wanted(placed.job).gpus <= gpus) continue;
    std::erase_if(watched.unexplained, [&](const Unexplained& piece) {
      if (placed.since > piece.from) return false;
      causes.of(WhyCause::kUnexplained) = causes.of(WhyCause::kUnexplained) - piece.length;
      causes.of(WhyCause::kKept) += piece.length;
      if (!watched.details) return true;
      WaitPiece& told = watched.pieces[piece.piece];
      told.causes = {};
      told.causes.of(WhyCause::kKept) = piece.length;
      told.other = placed.job;
      return true;
    });
  }
}

void Waits::close_piece(Watched& watched) {
  Open& open = *watched.open;
  JobWaits& job = jobs_[watched.row];
  const Duration length = now_ - open.from;
  WaitPiece piece{.from = open.from, .to = now_, .causes = {}};
  WhyCause cause = WhyCause::kUnexplained;
  if (open.cause) {
    cause = *open.cause;
  } else {
    std::tie(cause, piece.other) = resolved(open, watched.job);
    job.causes.of(WhyCause::kUnexplained) = job.causes.of(WhyCause::kUnexplained) - length;
    job.causes.of(cause) += length;
  }
  if (watched.details && length.ms > 0) {
    piece.causes.of(cause) = length;
    const GpuSums::Sums sums = sums_.up_to(now_, tables_.jobs.types[watched.job]);
    piece.facts = {.free_gpu_ms = difference(sums.free, open.sums.free),
                   .hole = open.hole,
                   .allocated_gpu_ms = difference(sums.allocated, open.sums.allocated),
                   .noted = std::move(open.noted)};
    watched.pieces.push_back(std::move(piece));
  }
  if (cause == WhyCause::kUnexplained && length.ms > 0) {
    const std::size_t row = watched.details ? watched.pieces.size() - 1 : 0;
    watched.unexplained.push_back({open.from, length, row});
  }
  watched.open.reset();
}

void Waits::close_wait(Watched& watched) {
  explain_late(watched);
  if (watched.open) close_piece(watched);
  watched.lost.clear();
  if (watched.pieces.empty()) return;
  jobs_[watched.row].waits.push_back({.from = watched.since,
                                      .to = now_,
                                      .begin = watched.begin,
                                      .cause = watched.cause,
                                      .stopped_for = watched.stopped_for,
                                      .pieces = joined(watched.pieces)});
  watched.pieces.clear();
  watched.unexplained.clear();
}

}  // namespace fairlead
