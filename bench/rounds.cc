// Measures the cost of one round: a decision in which every job is reconsidered.
//
//   bench_rounds decide POLICY JOBS SPEEDS [CLUSTER]    # the policy's decide() alone
//   bench_rounds shares METHOD JOBS SPEEDS [CLUSTER]    # Gavel's max-min program alone, by prices or clp
//
// Prints one JSON line: the median, the shortest and the longest milliseconds of CPU, counts, and the hash of
// the journal. CLUSTER is as for `fairlead --cluster`; without it, JOBS jobs share a GPU by two, with
// V100, P100 and K80 in equal numbers, in nodes of 4. No job ends. One more job arrives at the start of
// each round, so that no policy can repeat its last round. Policies need rounds of 360 s that begin at
// multiples of it, or none.
//
// SPEEDS `models`: the speeds of Gavel's 26 models, so that many jobs are alike. `own`: each job's
// differ by up to a tenth from its model's, so that no two are alike.

#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/policy/registry.h"
#include "fairlead/run/simulation.h"
#include "fairlead/solve/time_shares.h"
#include "fairlead/trace/gavel_workload.h"
#include "testing/allocation_counter.h"

#include "valid.h"
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {
namespace {

constexpr std::int64_t kRounds = 15;
constexpr Duration kRound = seconds(360);

// Returns the milliseconds of CPU that this process has taken: other work on the machine does not count.
double cpu_ms() {
  timespec now{};
  FL_CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

ModelProfile own_profile(ModelProfile model, std::string name, Rng& rng) {
  model.name = std::move(name);
  for (TypeRates& type : model.rates) {
    const double factor = 0.9 + 0.2 * rng.uniform();
    for (RateRow& row : type.rows) {
      row.consolidated *= factor;
      if (row.spread) *row.spread *= factor;
    }
  }
  return model;
}

// Gangs of 1, 2, 4 and 8 GPUs for 70, 10, 15 and 5 % of the jobs; a policy that may choose the size
// chooses from 1 to 8. Replaces the table by one of a profile per job if each has its own speeds.
Workload endless_jobs(SpeedTable& table, std::int64_t jobs, bool own_speeds) {
  constexpr std::array<double, 4> kShares = {70, 10, 15, 5};
  Rng rng(1);
  Rng factors = rng.split(1);
  SpeedTable own;
  WorkloadBuilder builder("endless", Reading::kStrict);
  for (std::int64_t i = 0; i < jobs + kRounds; ++i) {
    const std::string id = fmt::format("j{}", i);
    const std::string user = fmt::format("u{}", i % 10);
    const std::int64_t gpus = std::int64_t{1} << rng.weighted(kShares);
    std::size_t model = 0;
    do {
      model = rng.below(table.models.size());
    } while (gpus > 1 && !gavel_distributes(table.models[model].name));
    if (own_speeds) own.models.push_back(own_profile(table.models[model], id, factors));
    const JobRow row{.id = id,
                     .user = user,
                     .model = own_speeds ? id : table.models[model].name,
                     .gpus = gpus,
                     .gpus_min = 1,
                     .gpus_max = 8,
                     .submit = {std::max<std::int64_t>(0, i - jobs + 1) * kRound.ms},
                     .duration = seconds(36000 * (20 + static_cast<int>(rng.below(80))))};
    FL_CHECK(builder.add(row, "endless").has_value());
  }
  if (own_speeds) table = std::move(own);
  return builder.finish();
}

// Returns the cluster with a GPU for two jobs, rounded up to a whole number of nodes of each type.
std::string cluster_for(std::int64_t jobs) {
  const std::int64_t nodes = (jobs + 23) / 24;
  return fmt::format("{}xV100:4,{}xP100:4,{}xK80:4", nodes, nodes, nodes);
}

struct World {
  World(std::int64_t jobs, bool own_speeds, const std::string& cluster_text)
      : table(valid(load_models("gavel"))),
        workload(endless_jobs(table, jobs, own_speeds)),
        cluster(valid(load_cluster(cluster_text))),
        speed(valid(Speed::make(cluster, table, workload, "V100"))) {}

  SpeedTable table;
  Workload workload;
  Cluster cluster;
  Speed speed;
};

// Wraps another policy, and measures its last decision.
class Timed : public Policy {
 public:
  explicit Timed(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {}

  std::string_view name() const override { return policy_->name(); }
  Needs needs() const override { return policy_->needs(); }
  void decide(const View& view, Plan& plan) override {
    const std::int64_t allocations_before = allocations_so_far();
    const double begin = cpu_ms();
    policy_->decide(view, plan);
    ms = cpu_ms() - begin;
    allocations = allocations_so_far() - allocations_before;
    jobs_here = view.waiting.size() + view.running.size();
  }
  void fields(Archive& archive) override { policy_->fields(archive); }

  double ms = 0;
  std::int64_t allocations = 0;
  std::size_t jobs_here = 0;

 private:
  std::unique_ptr<Policy> policy_;
};

// The round at time 0, in which all jobs are new, counts by itself.
void decide(const std::string& policy_text, std::int64_t jobs, World world) {
  auto owned = std::make_unique<Timed>(valid(valid(parse_policy(policy_text, 1)).make()));
  const Timed& timed = *owned;
  const std::uint32_t gpus = world.cluster.gpus;
  Simulation simulation = valid(Simulation::make({.cluster = std::move(world.cluster),
                                                  .trace = Trace(std::move(world.workload)),
                                                  .policy = std::move(owned),
                                                  .settings = {.reference_gpu = "V100"},
                                                  .models = std::move(world.table),
                                                  .until = Time{kRounds * kRound.ms + 1},
                                                  .measured = false}));
  JournalFile journal;
  simulation.add_sink(journal);
  std::vector<double> ms;
  std::vector<double> steps;
  std::vector<double> allocations;
  double first_ms = 0;
  std::int64_t steps_before = 0;
  while (valid(simulation.step())) {
    const std::int64_t steps_so_far = simulation.counts().steps;
    if (simulation.now() == Time{}) {
      first_ms = timed.ms;
    } else if (simulation.now().ms % kRound.ms == 0) {
      FL_CHECK(timed.jobs_here == static_cast<std::size_t>(jobs) + ms.size() + 1);
      ms.push_back(timed.ms);
      steps.push_back(static_cast<double>(steps_so_far - steps_before));
      allocations.push_back(static_cast<double>(timed.allocations));
    }
    steps_before = steps_so_far;
  }
  FL_CHECK(journal.close().has_value());
  fmt::print(
      "{{\"policy\":\"{}\",\"jobs\":{},\"gpus\":{},\"rounds\":{},\"decisions\":{},"
      "\"first_ms\":{:.4f},\"ms\":{:.4f},\"ms_min\":{:.4f},\"ms_max\":{:.4f},\"steps\":{:.0f},"
      "\"allocations\":{:.0f},\"journal\":\"{}\"}}\n",
      policy_text, jobs, gpus, ms.size(), simulation.counts().decisions, first_ms, median(ms),
      std::ranges::min(ms), std::ranges::max(ms), median(steps), median(allocations),
      journal.hash());
}

// The program of Gavel's max-min: a job's part is its rate if its time is spread over the types in
// proportion to their GPUs, per GPU.
ShareProblem max_min(const World& world, std::int64_t jobs) {
  ShareProblem problem;
  const auto types = ids<GpuTypeId>(world.cluster.type_names.size());
  for (GpuTypeId type : types) problem.gpus.push_back(world.cluster.type_gpus[type]);
  for (JobId job : ids<JobId>(static_cast<std::size_t>(jobs))) {
    const std::uint32_t gpus = world.workload.jobs.gpus[job];
    double part = 0;
    for (GpuTypeId type : types) {
      const Rate rate = world.speed.rate(job, type, gpus, world.cluster.best_tier(gpus));
      problem.rate.push_back(rate.value());
      part += rate.value() * world.cluster.type_gpus[type] / world.cluster.gpus / gpus;
    }
    problem.gang.push_back(gpus);
    problem.count.push_back(1);
    problem.floor.push_back(0);
    problem.part.push_back(part);
  }
  return problem;
}

void shares(const std::string& method, std::int64_t jobs, const World& world) {
  const ShareProblem problem = max_min(world, jobs);
  std::vector<double> ms;
  Shares last;
  for (std::int64_t i = 0; i < kRounds; ++i) {
    const double begin = cpu_ms();
    last = valid(raise_level(problem, method == "clp" ? ShareMethod::kClp : ShareMethod::kPrices));
    ms.push_back(cpu_ms() - begin);
  }
  fmt::print(
      "{{\"method\":\"{}\",\"jobs\":{},\"gpus\":{},\"ms\":{:.4f},\"ms_max\":{:.4f},\"turns\":{},"
      "\"by_clp\":{},\"level\":{:.12g}}}\n",
      method, jobs, world.cluster.gpus, median(ms), std::ranges::max(ms), last.turns, last.by_clp,
      last.objective);
}

}  // namespace
}  // namespace fairlead

int main(int argc, char** argv) {
  const bool is_complete = argc == 5 || argc == 6;
  const std::string_view what = is_complete ? argv[1] : "";
  const std::string_view speeds = is_complete ? argv[4] : "";
  if ((what != "decide" && what != "shares") || (speeds != "models" && speeds != "own")) {
    std::fprintf(stderr,
                 "usage: bench_rounds decide POLICY JOBS models|own [CLUSTER]\n"
                 "       bench_rounds shares prices|clp JOBS models|own [CLUSTER]\n");
    return 2;
  }
  const std::int64_t jobs = std::atoll(argv[3]);
  fairlead::World world(jobs, speeds == "own", argc == 6 ? argv[5] : fairlead::cluster_for(jobs));
  if (what == "decide") {
    fairlead::decide(argv[2], jobs, std::move(world));
  } else {
    fairlead::shares(argv[2], jobs, world);
  }
  return 0;
}
