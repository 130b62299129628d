// Gavel (Narayanan et al., OSDI 2020): shares of time on each GPU type from a linear program, and
// rounds that give every job its share over time.
//
// A round is `round_s` seconds, or shorter if all its jobs are done. At its start all jobs are
// sorted by share over received time. The GPUs of each type go to the jobs that fit, in this order
// (rounds.h). Shares are computed again after jobs have come or gone, at most every
// `reallocation_s` seconds (objectives.h). A round without another
// choice is counted at the next event, and has no decision of its own.
//
// DEVIATION: placement keeps jobs on their GPUs, so that no job moves without need; the authors'
// simulator gives larger gangs their choice first. If no present job has a share yet, shares are
// computed at once. No job is ever dropped.
//
// Cost of a round: O(types x jobs x log jobs). Cost of shares: the linear program.
#include "fairlead/base/archive.h"
#include "fairlead/model/known_speed.h"
#include "fairlead/model/known_work.h"
#include "fairlead/model/levels.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/gavel/objectives.h"
#include "fairlead/policy/gavel/rounds.h"
#include "fairlead/policy/gavel/type_order.h"
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/policies.h"

#include <algorithm>

namespace fairlead {
namespace {

struct GavelOptions {
  GavelRule rule;
  Duration round;
  Duration reallocation;
  bool weighs_tickets;
  bool fills_between_rounds;
  Placement placement;
  std::uint64_t seed;
};

class Gavel : public Policy {
 public:
  explicit Gavel(const GavelOptions& options) : options_(options) {}

  std::string_view name() const override { return kGavel.name; }
  Needs needs() const override {
    const GavelObjective objective = options_.rule.objective;
    const bool asks = objective == GavelObjective::kFtf || objective == GavelObjective::kMakespan;
    return {.rates = RatesNeeded::kTable, .work = asks ? kAnyWork : WorkNeeded{}};
  }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 private:
  static constexpr std::uint32_t kNoType = 0xffffffff;
  // A present job. Its numbers by type are in the tables below, at the same row.
  struct Row {
    JobId job;
    std::uint32_t type = kNoType;  // the type that it runs on in this round
    Time since;                    // when its time there was last credited
    double isolated_s = 0;         // time that an isolated share would have needed for the work
                                   // done
    double isolated_rate = 0;      // since the last reset
    double done_s = 0;             // its work done at the last reset
    void fields(Archive& archive) { archive(job, type, since, isolated_s, isolated_rate, done_s); }
  };
  using Table = std::vector<double>;  // rows x types

  std::size_t types() const { return handed_out_s_.size(); }
  void apply_news(const View& view, const Plan& plan);
  void join(const View& view, JobId job);
  void credit(Row& row, Time now);
  void erase(std::size_t at);
  void find_capacity(const View& view, const Plan& plan);
  void find_throughputs(const View& view, std::size_t at);
  void begin_round(const View& view, Plan& plan);
  void count_idle_rounds(Time now, Plan& plan);
  bool is_settled(const Plan& plan) const;
  void reset(const View& view);
  GavelJobs jobs_for_rule(const View& view);
  void note_isolated(const View& view, GavelJobs& jobs);
  RoundBooks books();
  std::vector<std::uint32_t> type_order() const;
  void run(const View& view, Plan& plan, std::span<const RoundPick> picks);
  void keep_running(const View& view, Plan& plan);
  void run_in_order(const View& view, Plan& plan, std::span<const RoundPick> picks);
  bool start(const View& view, Plan& plan, RoundPick pick);
  void note_start(const View& view, RoundPick pick);
  void fill(const View& view, Plan& plan);

  const GavelOptions options_;
  std::vector<Row> rows_;  // by JobId
  Table throughputs_;
  Table shares_;
  Table received_s_;
  Table deficits_s_;
  std::vector<double> handed_out_s_;     // by type
  std::vector<std::uint32_t> capacity_;  // by type: GPUs on nodes that are up
  std::vector<std::uint32_t> gangs_;     // by row
  bool needs_shares_ = false;
  bool capacity_changed_ = true;
  std::uint64_t rounds_ = 0;
  Time round_end_;
  bool is_idle_ = false;  // no round since then had a choice, and none had a decision
  Time last_reset_;
  RoundSelection selection_;
};

void Gavel::decide(const View& view, Plan& plan) {
  if (handed_out_s_.empty()) handed_out_s_.assign(view.cluster.type_names.size(), 0);
  if (is_idle_) count_idle_rounds(view.now, plan);
  apply_news(view, plan);
  const bool round_runs = view.now < round_end_ && std::ranges::any_of(rows_, [&](const Row& row) {
                            return plan.has_gang(row.job);
                          });
  if (plan.in_round(!round_runs)) return begin_round(view, plan);
  if (options_.fills_between_rounds) fill(view, plan);
}

void Gavel::apply_news(const View& view, const Plan& plan) {
  for (const Event& event : view.news) {
    capacity_changed_ |= event.kind == EventKind::kGpusDown || event.kind == EventKind::kGpusUp;
  }
  if (capacity_changed_) find_capacity(view, plan);
  for (std::size_t at = rows_.size(); at-- > 0;) {
    Row& row = rows_[at];
    const JobState state = view.jobs.state[row.job];
    if (row.type != kNoType && state != JobState::kRunning) {
      credit(row, view.now);
      row.type = kNoType;
    }
    if (state == JobState::kWaiting || state == JobState::kRunning) continue;
    erase(at);
    needs_shares_ = true;
  }
  // A job that goes and comes back within an instant goes on as before; one that comes and goes is
  // gone.
  for (const Event& event : view.news) {
    if (event.kind != EventKind::kArrived) continue;
    const bool waits = view.jobs.state[event.job] == JobState::kWaiting;
    if (waits && !std::ranges::binary_search(rows_, event.job, {}, &Row::job)) {
      join(view, event.job);
    }
  }
}

void Gavel::join(const View& view, JobId job) {
  const auto place = std::ranges::lower_bound(rows_, job, {}, &Row::job);
  const std::size_t at = static_cast<std::size_t>(place - rows_.begin());
  rows_.insert(place, Row{.job = job, .since = view.now});
  gangs_.insert(gangs_.begin() + static_cast<std::ptrdiff_t>(at), view.jobs.gpus[job]);
  const double head_start_s = to_seconds(options_.round) / 2;
  const auto cell = static_cast<std::ptrdiff_t>(at * types());
  throughputs_.insert(throughputs_.begin() + cell, types(), 0.0);
  shares_.insert(shares_.begin() + cell, types(), 0.0);
  received_s_.insert(received_s_.begin() + cell, types(), head_start_s);
  deficits_s_.insert(deficits_s_.begin() + cell, types(), 0.0);
  find_throughputs(view, at);
  needs_shares_ = true;
}

void Gavel::credit(Row& row, Time now) {
  const std::size_t at = static_cast<std::size_t>(&row - rows_.data());
  const double ran_s = to_seconds(now - row.since);
  received_s_[at * types() + row.type] += ran_s;
  handed_out_s_[row.type] += ran_s;
  row.since = now;
}

void Gavel::erase(std::size_t at) {
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(at));
  gangs_.erase(gangs_.begin() + static_cast<std::ptrdiff_t>(at));
  for (Table* table : {&throughputs_, &shares_, &received_s_, &deficits_s_}) {
    const auto first = table->begin() + static_cast<std::ptrdiff_t>(at * types());
    table->erase(first, first + static_cast<std::ptrdiff_t>(types()));
  }
}

void Gavel::find_capacity(const View& view, const Plan& plan) {
  capacity_.clear();
  for (GpuTypeId type : ids<GpuTypeId>(types())) capacity_.push_back(plan.free().capacity(type));
  for (std::size_t at = 0; at < rows_.size(); ++at) find_throughputs(view, at);
  capacity_changed_ = false;
  needs_shares_ = true;
}

// Finds the throughputs of a gang as close together as possible, on one type; 0 if there are too
// few GPUs, or too few within the level that the job requires.
void Gavel::find_throughputs(const View& view, std::size_t at) {
  const JobId job = rows_[at].job;
  const std::uint32_t gpus = gangs_[at];
  const std::uint32_t task_gpus = view.jobs.task_gpus[job];
  const Level required = view.jobs.closeness[job].required;
  for (GpuTypeId type : ids<GpuTypeId>(types())) {
    const std::uint32_t room = view.cluster.room(type, task_gpus);
    const bool has_room =
        gpus <= std::min(capacity_[type.row()], room) &&
        (required == kAnywhere ||
         has_room_within(view.cluster, required, type_bit(type), gpus, task_gpus));
    const bool can_run = (view.jobs.types[job] & type_bit(type)) != 0 && has_room;
    throughputs_[at * types() + type.row()] =
        can_run ? view.speed.best_rate(job, type, gpus).value() : 0;
  }
}

void Gavel::begin_round(const View& view, Plan& plan) {
  for (Row& row : rows_) {
    if (row.type != kNoType) credit(row, view.now);
  }
  if (rows_.empty()) return;
  const bool no_job_has_shares =
      std::ranges::all_of(shares_, [](double share) { return share == 0; });
  if (needs_shares_ && (no_job_has_shares || view.now - last_reset_ >= options_.reallocation)) {
    reset(view);
  }
  const bool fill_idle = options_.rule.objective != GavelObjective::kFifo;
  run(view, plan, selection_.select(books(), capacity_, type_order(), fill_idle));
  ++rounds_;
  round_end_ = view.now + options_.round;
  if (std::ranges::any_of(rows_, [&](const Row& row) { return plan.has_gang(row.job); })) {
    is_idle_ = !needs_shares_ && is_settled(plan);
    if (!is_idle_) plan.wake_at(round_end_);
  }
}

// Counts the rounds that started before now, with exactly the effect of their decisions, bit by bit.
void Gavel::count_idle_rounds(Time now, Plan& plan) {
  is_idle_ = false;
  for (; round_end_ < now; round_end_ = round_end_ + options_.round) {
    for (Row& row : rows_) {
      if (row.type != kNoType) credit(row, round_end_);
    }
    ++rounds_;
  }
  if (now < round_end_) plan.wake_at(round_end_);
}

// Returns whether each job that can run does so, on the one type on which it can. O(rows x types).
bool Gavel::is_settled(const Plan& plan) const {
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    const auto cells = std::span(throughputs_).subspan(at * types(), types());
    const auto choices = std::ranges::count_if(cells, [](double rate) { return rate > 0; });
    const bool runs = plan.has_gang(rows_[at].job);
    if (choices == 0 && !runs) continue;
    if (choices != 1 || !runs || cells[rows_[at].type] <= 0) return false;
  }
  return true;
}

RoundBooks Gavel::books() {
  return {.types = types(),
          .gangs = gangs_,
          .throughputs = throughputs_,
          .shares = shares_,
          .received_s = received_s_,
          .deficits_s = deficits_s_,
          .handed_out_s = handed_out_s_};
}

void Gavel::reset(const View& view) {
  settle(books(), to_seconds(view.now - last_reset_), to_seconds(options_.round) / 2);
  last_reset_ = view.now;
  needs_shares_ = false;
  // Speeds may have been measured since.
  for (std::size_t at = 0; at < rows_.size(); ++at) find_throughputs(view, at);
  Rng rng = Rng(options_.seed).split(rounds_);
  shares_ = gavel_shares(options_.rule, jobs_for_rule(view), rng);
}

GavelJobs Gavel::jobs_for_rule(const View& view) {
  GavelJobs jobs;
  jobs.gpus.assign(capacity_.begin(), capacity_.end());
  jobs.gangs = gangs_;
  jobs.throughputs = throughputs_;
  jobs.shares = shares_;
  for (const Row& row : rows_) {
    const std::int64_t tickets = view.users.tickets[view.jobs.user[row.job]];
    jobs.weights.push_back(options_.weighs_tickets ? static_cast<double>(tickets) : 1.0);
  }
  if (needs().work.best != WorkSource::kNone) note_isolated(view, jobs);
  return jobs;
}

// Adds the time that an isolated share would have taken for the work done since the last reset.
void Gavel::note_isolated(const View& view, GavelJobs& jobs) {
  const std::vector<double> rates = isolated_throughputs(jobs, throughputs_);
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    Row& row = rows_[at];
    const double done_s = to_seconds(view.work.done(row.job));
    if (row.isolated_rate > 0) {
      row.isolated_s += std::max(0.0, done_s - row.done_s) / row.isolated_rate;
    }
    row.isolated_rate = rates[at];
    row.done_s = done_s;
    jobs.remaining_s.push_back(to_seconds(view.work.remaining(row.job)));
    jobs.age_s.push_back(to_seconds(view.now - view.jobs.arrival[row.job]));
    jobs.isolated_s.push_back(row.isolated_s);
  }
}

// Fast types choose first; for rules that know no speeds, the order is drawn again each round.
std::vector<std::uint32_t> Gavel::type_order() const {
  if (options_.rule.aware && options_.rule.objective != GavelObjective::kIsolated) {
    return types_by_speed(types(), throughputs_);
  }
  return shuffled_types(types(), Rng(options_.seed).split(rounds_));
}

// Jobs that stay on their type keep their gangs; then larger gangs choose first. If tasks of
// several GPUs find no place beside these, all choose in the order in which they were picked, so
// none is kept out for ever.
void Gavel::run(const View& view, Plan& plan, std::span<const RoundPick> picks) {
  const Plan::Mark before = plan.mark();
  std::vector<RoundPick> moving;
  std::vector<bool> keeps(rows_.size(), false);
  for (const RoundPick& pick : picks) {
    const Row& row = rows_[pick.row];
    if (plan.has_gang(row.job) && row.type == pick.type) {
      keeps[pick.row] = true;
    } else {
      moving.push_back(pick);
    }
  }
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    if (keeps[at]) continue;
    if (plan.has_gang(rows_[at].job)) plan.stop(rows_[at].job, StopCause::kRound);
    rows_[at].type = kNoType;
  }
  std::ranges::stable_sort(moving, std::greater<>(),
                           [&](const RoundPick& pick) { return gangs_[pick.row]; });
  bool tasks_fit = true;
  for (const RoundPick& pick : moving) {
    const bool is_placed = start(view, plan, pick);
    const GangAsked asked = gang_asked(view.jobs, rows_[pick.row].job);
    const bool is_free_to_split = asked.task_gpus == 1 && asked.closeness == Closeness();
    tasks_fit = tasks_fit && (is_placed || is_free_to_split);
  }
  if (!tasks_fit) {
    plan.rollback(before);
    run_in_order(view, plan, picks);
  }
  if (plan.is_cut()) keep_running(view, plan);
}

// Gives jobs their gangs back that no job of a round which was cut has taken.
void Gavel::keep_running(const View& view, Plan& plan) {
  for (Row& row : rows_) {
    const bool has_lost = view.jobs.state[row.job] == JobState::kRunning && !plan.has_gang(row.job);
    if (!has_lost || !place_back(view.jobs, plan, row.job)) continue;
    row.type = view.cluster.node_type[plan.gang(row.job).front().node].row();
    row.since = view.now;
  }
}

void Gavel::run_in_order(const View& view, Plan& plan, std::span<const RoundPick> picks) {
  for (Row& row : rows_) {
    if (plan.has_gang(row.job)) plan.stop(row.job, StopCause::kRound);
    row.type = kNoType;
  }
  for (const RoundPick& pick : picks) {
    const Row& row = rows_[pick.row];
    const Gang present = view.jobs.last_gang(row.job);
    const bool stays = view.jobs.state[row.job] == JobState::kRunning && !present.empty() &&
                       view.cluster.node_type[present.front().node].row() == pick.type;
    if (stays && place_back(view.jobs, plan, row.job)) {
      note_start(view, pick);
    } else {
      start(view, plan, pick);
    }
  }
}

// Returns false, without a change, if the placement would rather wait.
bool Gavel::start(const View& view, Plan& plan, RoundPick pick) {
  const JobId job = rows_[pick.row].job;
  const TypeMask type = type_bit(GpuTypeId(std::size_t{pick.type}));
  if (!place(options_.placement, view.cluster, plan, job, gangs_[pick.row], type)) return false;
  note_start(view, pick);
  return true;
}

void Gavel::note_start(const View& view, RoundPick pick) {
  // A pinned job returns to its own type.
  const JobId job = rows_[pick.row].job;
  rows_[pick.row].type = view.jobs.is_pinned(job)
                             ? view.cluster.node_type[view.jobs.last_gang(job).front().node].row()
                             : pick.type;
  rows_[pick.row].since = view.now;
}

// Gives idle GPUs to the next jobs; they join the present round.
void Gavel::fill(const View& view, Plan& plan) {
  if (plan.free().total() == 0) return;
  std::vector<std::uint32_t> free(types());
  for (GpuTypeId type : ids<GpuTypeId>(types())) free[type.row()] = plan.free().of(type);
  for (Row& row : rows_) {
    if (row.type != kNoType) credit(row, view.now);
  }
  RoundBooks waiting = books();
  Table throughputs = throughputs_;
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    if (!plan.has_gang(rows_[at].job)) continue;
    std::fill_n(throughputs.begin() + static_cast<std::ptrdiff_t>(at * types()), types(), 0.0);
  }
  waiting.throughputs = throughputs;
  const bool fill_idle = options_.rule.objective != GavelObjective::kFifo;
  const std::span<const RoundPick> picks =
      selection_.select(waiting, free, type_order(), fill_idle);
  for (const RoundPick& pick : picks) start(view, plan, pick);
}

void Gavel::fields(Archive& archive) {
  std::uint64_t types = this->types();
  std::uint64_t rows = rows_.size();
  archive(types);
  archive.expect(types <= kGpuTypesMax);
  archive.size(rows);
  archive.sized(rows_, rows);
  for (const Row& row : rows_) {
    archive.expect(!row.job.is_none() && (row.type == kNoType || row.type < types));
  }
  archive.sized(gangs_, rows);
  for (Table* table : {&throughputs_, &shares_, &received_s_, &deficits_s_}) {
    archive.sized(*table, rows * types);
  }
  archive.sized(handed_out_s_, types);
  archive.sized(capacity_, types);
  archive(needs_shares_, capacity_changed_, rounds_, round_end_, is_idle_, last_reset_);
}

constexpr OptionSpec kOptions[] = {
    choice_option(
        "objective", "max-min", "max-min/ftf/makespan/max-throughput/fifo/isolated",
        "Quantity that the shares of time optimise: the least normalised throughput, finish-time "
        "fairness, makespan, total throughput, order of arrival, or nothing (isolated: "
        "equal shares of every type)."),
    flag_option("aware", "true",
                "Use each job's speed on each GPU type; false, the paper's baseline: one speed for "
                "all types."),
    flag_option("water_filling", "false",
                "With max-min: raise the second least throughput too, then the third and so on."),
    choice_option(
        "ties", "progress", "progress/none",
        "With max-min, ftf and makespan, if several divisions are best: the one with the most "
        "progress (ours), or the one found first, which gives no job more than it must have "
        "(none) and is closer to the published figures."),
    choice_option("weights", "tickets", "tickets/equal",
                  "With max-min: weight of a job, which is its user's tickets, or 1 (equal)."),
    integer_option("round_s", "360", "seconds", 1, 86400,
                   "Maximum length of a round; the default is the paper's."),
    integer_option("reallocation_s", "1920", "seconds", 0, 864000,
                   "Minimum time between computations of the shares; the default is the authors' "
                   "simulator's."),
    choice_option("between_rounds", "wait", "wait/fill",
                  "GPUs that become free within a round stay idle to its end, as in the paper "
                  "(wait), or go to waiting jobs at once (fill)."),
    placement_option(
        "best-fit",
        "Placement of a gang on its GPU type; the default keeps gangs together (ours)."),
};

}  // namespace

const PolicyEntry kGavel = {
    .name = "gavel",
    .summary = "Shares of time on each GPU type from a linear program, given out in rounds.",
    .paper = "Narayanan et al., Gavel, OSDI 2020",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      using Objective = GavelObjective;
      const GavelRule rule{
          .objective = options.choice(
              "objective", {Objective::kMaxMin, Objective::kFtf, Objective::kMakespan,
                            Objective::kMaxThroughput, Objective::kFifo, Objective::kIsolated}),
          .aware = options.flag("aware"),
          .water_filling = options.flag("water_filling"),
          .ties = options.choice("ties", {Ties::kProgress, Ties::kNone})};
      if (rule.water_filling && rule.objective != GavelObjective::kMaxMin) {
        return input_error("gavel: water_filling=true needs objective=max-min");
      }
      return std::make_unique<Gavel>(
          GavelOptions{.rule = rule,
                       .round = options.duration("round_s"),
                       .reallocation = options.duration("reallocation_s"),
                       .weighs_tickets = options.is("weights", "tickets"),
                       .fills_between_rounds = options.is("between_rounds", "fill"),
                       .placement = options.placement(),
                       .seed = options.seed()});
    },
    .traits =
        [](const PolicyOptions& options) {
          PlacementTraits traits = placement_traits(options, "round_s");
          traits.one_type = true;
          return traits;
        }};

}  // namespace fairlead
