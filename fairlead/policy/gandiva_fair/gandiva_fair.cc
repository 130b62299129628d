#include "fairlead/policy/gandiva_fair/gandiva_fair.h"

#include "fairlead/model/step.h"
#include "fairlead/model/task_limits.h"
#include "fairlead/policy/kit/rounds.h"
#include "fairlead/policy/policies.h"

#include <algorithm>

namespace fairlead {
namespace {

constexpr std::int64_t kRestQuanta = 5;  // how long a moved job stays; chosen

}  // namespace

GandivaFair::GandivaFair(const GandivaFairOptions& options)
    : options_(options),
      accounts_(options.entitlements, options.ledger),
      homes_({.quantum = options.quantum, .node_jobs_per_gpu_max = 2 * options.jobs_per_gpu_max},
             accounts_),
      choice_(homes_, accounts_),
      admission_({.jobs_per_gpu_max = options.jobs_per_gpu_max, .quantum = options.quantum},
                 accounts_, homes_, choice_),
      turns_(options.turns, homes_, accounts_),
      cool_down_({kRestQuanta * options.quantum.ms}),
      balancer_(options.gain, homes_, choice_, cool_down_),
      matching_(options.gain, homes_, accounts_, choice_, cool_down_),
      trades_(options.trades, homes_, accounts_) {}

std::string_view GandivaFair::name() const { return kGandivaFair.name; }

void GandivaFair::decide(const View& view, Plan& plan) {
  begin(view, plan);
  for (const Event& event : view.news) apply_event(view, plan, event);
  bool is_due = view.now >= next_quantum_;
  if (is_due && admission_.has_jobs()) rotate(view, plan);
  admission_.let_in(view, plan);
  if (begin_contention(view)) is_due = false;
  if (is_due && was_contended_) run_quantum(view, plan);
  if (is_due && !was_contended_ && may_match_types()) match_types(view, plan);
  fill_touched(view, plan);
  start_where_room_is(view, plan);
  ask_to_be_woken(view, plan);
}

void GandivaFair::begin(const View& view, const Plan& plan) {
  accounts_.begin(view.users, view.cluster);
  homes_.begin(view, plan);
  admission_.begin(view);
}

// --- Events -----------------------------------------------------------------------------------

void GandivaFair::apply_event(const View& view, Plan& plan, const Event& event) {
  switch (event.kind) {
    case EventKind::kArrived:
      return arrive(view, event.job);
    case EventKind::kFinished:
    case EventKind::kFailed:
    case EventKind::kCancelled:
      return leave(view, event.job);
    case EventKind::kEvicted:
      return evict(view, event.job);
    case EventKind::kGpusDown:
    case EventKind::kGpusUp:
      return resize_node(view, plan, event.node);
    case EventKind::kTickets:
      return accounts_.set_tickets(view.users);
    case EventKind::kCharged:
      return accounts_.charge(event.user, view.cluster.node_type[event.node], event.attained);
    default:
      return;
  }
}

void GandivaFair::arrive(const View& view, JobId job) {
  accounts_.add_demand(view.jobs.user[job], view.jobs.gpus[job]);
  admission_.put_last(view, job);
}

void GandivaFair::evict(const View& view, JobId job) {
  if (!homes_.is_kept(job)) return;  // its node was emptied just now
  homes_.set_runs(view, job, false);
  homes_.move_out(view, job);
  admission_.put_first(view, job);
}

// Takes the job out of its home; it returns when it is its turn.
void GandivaFair::put_out(const View& view, Plan& plan, JobId job, StopCause cause) {
  if (homes_.of(job).runs) stop(view, plan, job, cause);
  homes_.move_out(view, job);
  admission_.put_last(view, job);
}

void GandivaFair::leave(const View& view, JobId job) {
  const UserId user = view.jobs.user[job];
  if (homes_.is_kept(job)) {
    if (homes_.of(job).runs) homes_.set_runs(view, job, false);
    homes_.move_out(view, job);
  } else {
    admission_.remove(view, job);
  }
  homes_.forget(job);
  cool_down_.forget(job);
  accounts_.add_demand(user, -std::int64_t{view.jobs.gpus[job]});
  admission_.consider_group(user);
}

// Stops the jobs kept there that run on its other GPUs, or while it is cordoned. All look for a
// home again, before jobs that arrived later.
void GandivaFair::empty_node(const View& view, Plan& plan, NodeId node) {
  homes_.list_jobs(node, leaving_);
  for (auto job = leaving_.rbegin(); job != leaving_.rend(); ++job) {
    if (plan.has_gang(*job)) {
      stop(view, plan, *job, StopCause::kDrain);
    } else if (homes_.of(*job).runs) {
      homes_.set_runs(view, *job, false);  // its eviction, or its end, is in the news to come
    }
    homes_.move_out(view, *job);
    admission_.put_first(view, *job);
  }
}

// Starts a node with other GPUs than before again, without jobs.
void GandivaFair::resize_node(const View& view, Plan& plan, NodeId node) {
  const std::uint32_t before = homes_.nodes()[node].usable();
  const std::uint32_t gpus = plan.free().capacity(node);
  if (gpus == before) return;
  empty_node(view, plan, node);
  homes_.resize(node, gpus);
  if (gpus > before) admission_.consider_all();
}

// --- The quantum ------------------------------------------------------------------------------

// Returns true if jobs must wait from now on and did not before: turns start at the next boundary,
// and no debt outlives a time of plenty.
bool GandivaFair::begin_contention(const View& view) {
  const bool begins = is_contended() && !was_contended_;
  was_contended_ = is_contended();
  if (!begins) return false;
  accounts_.update(view.now);
  accounts_.forgive(view.now);
  next_quantum_ = next_boundary(view.now);
  return true;
}

// Lets jobs that had more make room for jobs outside that had less.
void GandivaFair::rotate(const View& view, Plan& plan) {
  accounts_.update(view.now);
  admission_.rotate(view, plan,
                    [&](JobId job, StopCause cause) { put_out(view, plan, job, cause); });
}

void GandivaFair::run_quantum(const View& view, Plan& plan) {
  find_blocked(plan);
  homes_.charge();
  accounts_.update(view.now);
  trades_.trade_if_due(view, plan);
  if (options_.notes) note_entitlements(plan);
  homes_.refresh(view);
  if (options_.balance) balance(view, plan);
  take_turns(view, plan);
  next_quantum_ = next_boundary(view.now);
}

void GandivaFair::balance(const View& view, Plan& plan) {
  const CarryOut carry_out = mover(view, plan);
  matching_.match(view, carry_out);
  balancer_.balance(view, carry_out);
}

// Finds the jobs of a node that cannot have a turn.
void GandivaFair::find_blocked(const Plan& plan, std::span<StrideClient> queue) {
  for (StrideClient& client : queue) client.is_blocked = plan.is_blocked(client.job);
}

void GandivaFair::find_blocked(const Plan& plan) {
  for (NodeId node : homes_.nodes().contended()) find_blocked(plan, homes_.queue(node));
  for (std::uint32_t row = 0; row < homes_.spreads().size(); ++row)
    find_blocked(plan, {&homes_.spread_client(row), 1});
}

void GandivaFair::take_turns(const View& view, Plan& plan) {
  find_blocked(plan);  // moves may have changed which nodes are contended
  turns_.begin();
  turns_.choose_spreads(view);
  for (const SpreadJob& spread : homes_.spreads()) stop_unless_chosen(view, plan, spread.client);
  for (NodeId node : homes_.nodes().contended()) {
    turns_.choose(view, node);
    for (const StrideClient& client : homes_.nodes()[node].queue) {
      stop_unless_chosen(view, plan, client);
    }
  }
  for (const SpreadJob& spread : homes_.spreads()) start_if_chosen(view, plan, spread.client);
  for (NodeId node : homes_.nodes().contended()) {
    for (const StrideClient& client : homes_.nodes()[node].queue)
      start_if_chosen(view, plan, client);
  }
}

// If no job waits, jobs may still do better on GPUs of another type.
bool GandivaFair::may_match_types() const {
  return options_.balance && homes_.nodes().types() > 1 &&
         !accounts_.due().demand().active().empty();
}

void GandivaFair::match_types(const View& view, Plan& plan) {
  accounts_.update(view.now);
  trades_.trade_if_due(view, plan);
  matching_.match(view, mover(view, plan));
  next_quantum_ = next_boundary(view.now);
}

void GandivaFair::note_entitlements(Plan& plan) {
  for (UserId user : accounts_.due().demand().active()) {
    for (GpuTypeId type : ids<GpuTypeId>(homes_.nodes().types())) {
      if (!accounts_.take_news(user, type)) continue;
      const double share = accounts_.due().share(user, type);
      plan.note(note::Entitlement{user, type, note::Thousandths::of(share)});
    }
  }
}

// Returns the first multiple of the quantum after now.
Time GandivaFair::next_boundary(Time now) const { return Rounds(options_.quantum).next(now); }

void GandivaFair::ask_to_be_woken(const View& view, Plan& plan) {
  if (!was_contended_ && !may_match_types()) return;
  if (next_quantum_ <= view.now) next_quantum_ = next_boundary(view.now);
  if (wake_ == next_quantum_) return;
  wake_ = std::max(next_quantum_, view.now + milliseconds(1));
  plan.wake_at(wake_);
}

// --- Starting and stopping --------------------------------------------------------------------

// Returns false if it must wait: it is pinned and others have its GPUs, or other resources of its home are short.
bool GandivaFair::start(const View& view, Plan& plan, JobId job) {
  if (view.jobs.is_pinned(job)) {
    if (!plan.place_pinned(job)) return false;
    homes_.set_runs(view, job, true);
    return true;
  }
  if (homes_.of(job).is_spread()) {
    for (Slice slice : homes_.spread(job).slices) plan.take(slice.node, slice.gpus);
  } else {
    plan.take(homes_.of(job).node, view.jobs.gpus[job]);
  }
  if (!plan.place(job)) return false;
  homes_.set_runs(view, job, true);
  return true;
}

// Returns the GPUs of the job's home.
std::vector<Slice> GandivaFair::home_slices(const View& view, JobId job) const {
  if (homes_.of(job).is_spread()) {
    const auto& slices = homes_.spread(job).slices;
    return {slices.begin(), slices.end()};
  }
  return {{.node = homes_.of(job).node, .gpus = static_cast<std::uint16_t>(view.jobs.gpus[job])}};
}

// Returns whether one of the jobs has its GPUs free at home, but too little room there by other resources.
bool GandivaFair::lacks_room(const View& view, const Plan& plan,
                             std::span<const JobId> jobs) const {
  return std::ranges::any_of(jobs, [&](JobId job) {
    return std::ranges::any_of(home_slices(view, job), [&](Slice slice) {
      return plan.free().on(slice.node) >= slice.gpus && plan.usable(job, slice.node) < slice.gpus;
    });
  });
}

// Returns a node with room for the job now: of the type of its home, else of the type on which it is fastest.
NodeId GandivaFair::node_with_room(const View& view, const Plan& plan, JobId job) const {
  const GpuTypeId home = homes_.of(job).type;
  NodeId best;
  double fastest = 0;
  for (GpuTypeId type : ids<GpuTypeId>(homes_.nodes().types())) {
    const double speed = speed_on(view, job, type);
    const bool is_allowed = (view.jobs.types[job] & type_bit(type)) != 0;
    if (!is_allowed || (type != home && speed <= fastest)) continue;
    const auto nodes = homes_.nodes().of_type(type);
    const auto found = std::ranges::find_if(
        nodes, [&](NodeId node) { return plan.usable(job, node) >= view.jobs.gpus[job]; });
    if (found == nodes.end()) continue;
    if (type == home) return *found;
    best = *found;
    fastest = speed;
  }
  return best;
}

// Starts jobs that find room at their home again, or on another node, after their homes lacked other resources than
// GPUs. Such a lack is not in the books. O(waiting x nodes), if tasks are limited at all.
void GandivaFair::start_where_room_is(const View& view, Plan& plan) {
  if (!plan.room().is_limited()) return;
  std::vector<JobId> waiting;
  for (JobId job : view.waiting) {
    const bool is_still = plan.room().limits(job) && homes_.is_kept(job) && !homes_.of(job).runs;
    if (is_still && !plan.is_pinned(job)) waiting.push_back(job);
  }
  std::ranges::sort(waiting);
  // Room never grows by itself: a job that found none is tried again with the jobs of its node.
  if (view.jobs.limits->is_lasting() && !lacks_room(view, plan, waiting)) return;
  for (JobId job : waiting) {
    const auto at_home = [&](const auto& has_enough) {
      return std::ranges::all_of(home_slices(view, job), has_enough);
    };
    // Otherwise it waits for its turn there.
    if (!at_home([&](Slice slice) { return plan.free().on(slice.node) >= slice.gpus; })) continue;
    if (!at_home([&](Slice slice) { return plan.usable(job, slice.node) >= slice.gpus; })) {
      const NodeId other = node_with_room(view, plan, job);
      if (other.is_none()) continue;
      homes_.move(view, job, {.node = other});
    }
    start(view, plan, job);
  }
}

void GandivaFair::stop(const View& view, Plan& plan, JobId job, StopCause cause) {
  plan.stop(job, cause);
  homes_.set_runs(view, job, false);
}

void GandivaFair::stop_unless_chosen(const View& view, Plan& plan, const StrideClient& client) {
  if (!client.chosen && homes_.of(client.job).runs) {
    stop(view, plan, client.job, StopCause::kTurn);
  }
}

void GandivaFair::start_if_chosen(const View& view, Plan& plan, const StrideClient& client) {
  if (client.chosen && !homes_.of(client.job).runs) start(view, plan, client.job);
}

// Returns a function that carries moves out. Valid as long as the arguments.
CarryOut GandivaFair::mover(const View& view, Plan& plan) {
  return [this, &view, &plan](const Move& move) {
    if (homes_.of(move.job).runs) stop(view, plan, move.job, StopCause::kMove);
    homes_.move(view, move.job, move.to);
    cool_down_.on_move(move.job, view.now);
  };
}

// Gives free GPUs to the waiting jobs.
void GandivaFair::fill_touched(const View& view, Plan& plan) {
  for (NodeId node : homes_.nodes().touched()) {
    find_blocked(plan, homes_.queue(node));
    for (;;) {
      const std::uint32_t free = plan.free().on(node);
      const JobId next = free == 0 ? JobId::none() : turns_.next(view, node, free);
      if (next.is_none() || !start(view, plan, next)) break;
    }
  }
  homes_.forget_touched();
  if (!homes_.spreads().wait()) return;
  for (const SpreadJob& spread : homes_.spreads()) {
    if (homes_.of(spread.client.job).runs) continue;
    const bool fits = std::ranges::all_of(
        spread.slices, [&](Slice slice) { return plan.free().on(slice.node) >= slice.gpus; });
    if (fits) start(view, plan, spread.client.job);
  }
}

// --- Saving and loading -----------------------------------------------------------------------

// To be raised when the saved fields change. The state of an older version is then refused and the
// policy starts again. The first versions had none, and started with the number of GPU types.
constexpr std::uint64_t kStateVersion = 1004;

void GandivaFair::fields(Archive& archive) {
  std::uint64_t version = kStateVersion;
  archive(version);
  archive.expect(version == kStateVersion);
  archive(accounts_, homes_, admission_, cool_down_, trades_);
  archive(next_quantum_, wake_, was_contended_);
}

}  // namespace fairlead
