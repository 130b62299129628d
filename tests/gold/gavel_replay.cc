#include "gavel_replay.h"

#include "fairlead/base/check.h"
#include "fairlead/base/python_random.h"
#include "fairlead/policy/gavel/rounds.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace fairlead {
namespace {

constexpr int kFailuresMax = 5;
constexpr double kStartCost = 20;   // seconds, of Shockwave
constexpr double kStartMargin = 5;  // seconds; shorter runs are not charged

class Replay {
 public:
  Replay(const GavelWorld& world, const GavelRules& rules, const GavelAllocate& allocate)
      : world_(world),
        rules_(rules),
        allocate_(allocate),
        types_(world.types.size()),
        handed_out_s_(types_),
        failures_(world.jobs.size()) {
    outcome_.finish_s.resize(world.jobs.size());
    if (rules.shuffle_seed) random_.emplace(*rules.shuffle_seed);
  }

  GavelOutcome run() {
    while (next_arrival_ < world_.jobs.size() || !active_.empty()) {
      if (!jump()) break;
      finish_round();
      admit();
      if (is_stale_ && (now_s_ - last_reset_s_ >= rules_.reset_min_s || last_reset_s_ == 0)) {
        reset();
      }
      start_round();
    }
    return std::move(outcome_);
  }

 private:
  struct Running {
    std::uint32_t job;
    std::uint32_t type;
    std::int64_t steps;
    double finish_s;
  };

  bool jump();
  void finish_round();
  void finish(const Running& run);
  void admit();
  void remove(std::size_t row);
  void reset();
  void start_round();
  std::vector<std::uint32_t> type_order();
  void assign_workers(std::vector<GavelRun>& runs) const;
  RoundBooks books();
  std::size_t row_of(std::uint32_t job) const;
  bool ran_before(std::uint32_t job) const;

  const GavelWorld& world_;
  const GavelRules& rules_;
  const GavelAllocate& allocate_;
  const std::size_t types_;

  double now_s_ = 0;
  double round_start_s_ = 0;  // for accounting: the end of the last round, however long ago
  double last_reset_s_ = 0;
  bool is_stale_ = false;  // the allocation; something happened since it was computed
  std::size_t next_arrival_ = 0;
  std::size_t resets_ = 0;

  // The active jobs by id, and their tables, row-major.
  std::vector<GavelReset::Active> active_;
  std::vector<bool> is_allocated_;
  std::vector<std::uint32_t> gangs_;
  std::vector<double> throughputs_;
  std::vector<double> shares_;
  std::vector<double> received_s_;
  std::vector<double> deficits_s_;
  std::vector<double> handed_out_s_;

  std::vector<int> failures_;
  std::vector<Running> running_;
  std::vector<GavelRun> current_;   // the round that runs
  std::vector<GavelRun> previous_;  // the round before
  RoundSelection selection_;
  std::optional<PythonRandom> random_;
  GavelOutcome outcome_;
};

RoundBooks Replay::books() {
  return {.types = types_,
          .gangs = gangs_,
          .throughputs = throughputs_,
          .shares = shares_,
          .received_s = received_s_,
          .deficits_s = deficits_s_,
          .handed_out_s = handed_out_s_};
}

std::size_t Replay::row_of(std::uint32_t job) const {
  const auto at = std::ranges::lower_bound(active_, job, {}, &GavelReset::Active::job);
  return static_cast<std::size_t>(at - active_.begin());
}

bool Replay::ran_before(std::uint32_t job) const {
  return std::ranges::find(previous_, job, &GavelRun::job) != previous_.end();
}

// Runs to the end of the round, or the next arrival. Returns false if nothing will ever happen
// again.
bool Replay::jump() {
  if (!running_.empty()) {
    now_s_ = std::ranges::max_element(running_, {}, &Running::finish_s)->finish_s;
    return true;
  }
  if (next_arrival_ < world_.jobs.size()) {
    now_s_ = std::max(now_s_, world_.jobs[next_arrival_].arrival_s);
    return true;
  }
  // Only a reset can go on, and the simulator does not wait for it.
  return std::exchange(last_reset_s_, 0) != 0;
}

void Replay::finish_round() {
  if (running_.empty()) return;
  std::ranges::sort(running_, [](const Running& a, const Running& b) {
    return std::tie(b.finish_s, a.job) < std::tie(a.finish_s, b.job);
  });
  for (const Running& run : running_) finish(run);
  running_.clear();
  round_start_s_ = now_s_;
}

void Replay::finish(const Running& run) {
  const std::size_t row = row_of(run.job);
  std::int64_t steps = run.steps;
  double execution_s = run.finish_s - round_start_s_;
  if (rules_.charge_starts && outcome_.rounds.size() > 1 && !ran_before(run.job) &&
      execution_s > rules_.round_s - kStartMargin) {
    const double charged_s = execution_s - kStartCost;
    steps = static_cast<std::int64_t>(static_cast<double>(steps) * charged_s / execution_s);
    execution_s = charged_s;
  }
  if (steps < gangs_[row]) {
    // The simulator gives some worker no step at all and treats that as a failure.
    is_stale_ = true;
    if (++failures_[run.job] == kFailuresMax) remove(row);
    return;
  }
  failures_[run.job] = 0;
  received_s_[row * types_ + run.type] += execution_s;
  handed_out_s_[run.type] += execution_s;
  active_[row].remaining_steps -= steps;
  if (active_[row].remaining_steps > 0) return;
  is_stale_ = true;
  outcome_.finish_s[run.job] = run.finish_s;
  remove(row);
}

void Replay::remove(std::size_t row) {
  const auto at = static_cast<std::ptrdiff_t>(row);
  const auto columns = static_cast<std::ptrdiff_t>(types_);
  active_.erase(active_.begin() + at);
  is_allocated_.erase(is_allocated_.begin() + at);
  gangs_.erase(gangs_.begin() + at);
  for (std::vector<double>* table : {&throughputs_, &shares_, &received_s_, &deficits_s_}) {
    table->erase(table->begin() + at * columns, table->begin() + (at + 1) * columns);
  }
}

void Replay::admit() {
  for (; next_arrival_ < world_.jobs.size(); ++next_arrival_) {
    const GavelJob& job = world_.jobs[next_arrival_];
    if (job.arrival_s > now_s_) return;
    FL_CHECK(job.throughputs.size() == types_, "{} of {} types", job.throughputs.size(), types_);
    active_.push_back({static_cast<std::uint32_t>(next_arrival_), job.steps});
    is_allocated_.push_back(false);
    gangs_.push_back(job.gang);
    throughputs_.insert(throughputs_.end(), job.throughputs.begin(), job.throughputs.end());
    shares_.resize(shares_.size() + types_, 0);
    received_s_.resize(received_s_.size() + types_, rules_.round_s / 2);
    deficits_s_.resize(deficits_s_.size() + types_, 0);
    is_stale_ = true;
  }
}

void Replay::reset() {
  settle(books(), now_s_ - last_reset_s_, rules_.round_s / 2);
  last_reset_s_ = now_s_;
  shares_ = allocate_({.index = resets_++, .now_s = now_s_, .active = active_});
  is_allocated_.assign(active_.size(), true);
  is_stale_ = false;
}

// The simulator prefers fast types if the policy knows speeds, and no type if it does not.
std::vector<std::uint32_t> Replay::type_order() {
  std::vector<std::uint32_t> order(types_);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::reverse(order);  // v100, p100, k80
  if (random_) random_->shuffle(order);
  return order;
}

void Replay::start_round() {
  const std::vector<std::uint32_t> order = type_order();
  previous_ = std::move(current_);
  current_.clear();
  for (const RoundPick& pick : selection_.select(books(), world_.gpus, order, rules_.fill_idle)) {
    // The simulator reserves GPUs for a newcomer without an allocation, but does not run it.
    if (is_allocated_[pick.row]) current_.push_back({active_[pick.row].job, pick.type});
  }
  assign_workers(current_);
  for (const GavelRun& run : current_) {
    const std::size_t row = row_of(run.job);
    const double throughput = throughputs_[row * types_ + run.type];
    const std::int64_t steps = std::min(static_cast<std::int64_t>(throughput * rules_.round_s),
                                        active_[row].remaining_steps);
    running_.push_back(
        {run.job, run.type, steps, now_s_ + static_cast<double>(steps) / throughput});
  }
  std::ranges::sort(current_, {}, &GavelRun::job);
  if (!current_.empty()) outcome_.rounds.push_back({now_s_, current_});
}

// Type by type, largest gangs first. Among gangs of one size, gangs that keep their workers come
// before the others, which take the first free ones.
void Replay::assign_workers(std::vector<GavelRun>& runs) const {
  std::ranges::stable_sort(runs, [this](const GavelRun& a, const GavelRun& b) {
    return world_.jobs[a.job].gang > world_.jobs[b.job].gang;
  });
  std::set<std::uint32_t> taken;
  const auto keep = [&](GavelRun& run) {
    const auto before = std::ranges::find(previous_, run.job, &GavelRun::job);
    if (before == previous_.end() || before->type != run.type) return;
    for (const std::uint32_t worker : before->workers) {
      if (taken.contains(worker)) return;
    }
    run.workers = before->workers;
    taken.insert(run.workers.begin(), run.workers.end());
  };
  const auto take = [&](GavelRun& run) {
    const auto first_gpus = world_.gpus.begin();
    std::uint32_t worker = std::accumulate(first_gpus, first_gpus + run.type, 0U);
    for (; run.workers.size() < world_.jobs[run.job].gang; ++worker) {
      if (taken.insert(worker).second) run.workers.push_back(worker);
    }
  };
  for (auto first = runs.begin(); first != runs.end();) {
    const std::uint32_t gang = world_.jobs[first->job].gang;
    const auto last = std::find_if(
        first, runs.end(), [&](const GavelRun& run) { return world_.jobs[run.job].gang != gang; });
    std::for_each(first, last, keep);
    std::for_each(first, last, [&](GavelRun& run) {
      if (run.workers.empty()) take(run);
    });
    first = last;
  }
}

}  // namespace

GavelOutcome replay(const GavelWorld& world, const GavelRules& rules,
                    const GavelAllocate& allocate) {
  return Replay(world, rules, allocate).run();
}

}  // namespace fairlead
