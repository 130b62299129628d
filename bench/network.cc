// Measures the cost of sharing links: one whole run with gangs that slow each other down, and the
// same run with the speeds that they have alone.
//
//   bench_network MIX RUNNING analytic        # or contention
//   bench_network MIX RUNNING files FOLDER    # writes FOLDER/cluster.yaml and FOLDER/trace.csv
//
// Prints one JSON line: seconds, and the work done in them; or the policy that goes with the files.
// About RUNNING jobs run at a time, on nodes of 8 GPUs with 100 Gbit/s in racks of 25, ten GPUs for
// three jobs. Jobs are the four of Wang et al. (arXiv 2002.10105) in equal parts, work 30 to 90
// minutes, and arrive in a Poisson process.
//
// MIX `packed`: gangs of 1 to 32 GPUs placed where they fit best, as schedulers do. `fragmented`:
// the same on any free GPUs. `flat`: as fragmented, but racks' uplinks carry all traffic of their
// hosts. `scattered`: gangs of 2 to 5 with each GPU on another node, so that nearly all cross racks
// and every uplink is full.

#include "fairlead/base/overloaded.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/model/workload.h"
#include "fairlead/run/simulation.h"

#include "valid.h"
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {
namespace {

constexpr std::int64_t kNodeGpus = 8;
constexpr std::int64_t kRackNodes = 25;

struct Mix {
  std::string_view name;
  std::string_view policy;
  std::vector<std::int64_t> gpus;
  std::vector<double> shares;
  double load;              // load of the cluster, by the speeds that gangs have alone on one host
  double oversubscription;  // oversubscription of the racks' uplinks
};

const std::vector<Mix>& mixes() {
  static const std::vector<Mix> kMixes = {
      {.name = "packed",
       .policy = "fifo:skip=true,placement=best-fit",
       .gpus = {1, 2, 4, 8, 16, 32},
       .shares = {50, 15, 15, 17, 2, 1},
       .load = 0.8,
       .oversubscription = 4},
      {.name = "fragmented",
       .policy = "fifo:skip=true",
       .gpus = {1, 2, 4, 8, 16, 32},
       .shares = {50, 15, 15, 17, 2, 1},
       .load = 0.8,
       .oversubscription = 4},
      {.name = "flat",
       .policy = "fifo:skip=true",
       .gpus = {1, 2, 4, 8, 16, 32},
       .shares = {50, 15, 15, 17, 2, 1},
       .load = 0.8,
       .oversubscription = 1},
      {.name = "scattered",
       .policy = "fifo:skip=true,placement=spread",
       .gpus = {2, 3, 4, 5},
       .shares = {30, 30, 30, 10},
       .load = 0.4,
       .oversubscription = 4},
  };
  return kMixes;
}

// Counts events, and the mean number of running jobs while jobs arrive.
class Watch : public RecordSink {
 public:
  explicit Watch(RecordSink& next) : next_(next) {}
  void on(const Record& record) override {
    next_.on(record);
    running_ms_ += static_cast<double>(running_) * static_cast<double>((record.t - now_).ms);
    now_ = record.t;
    std::visit(
        Overloaded{
            [&](const record::Place&) { ++placements, ++running_; },
            [&](const record::Finished&) { --running_; }, [&](const record::Speed&) { ++speeds; },
            [&](const record::Arrived&) { running = running_ms_ / static_cast<double>(now_.ms); },
            [](const auto&) {}},
        record.what);
  }
  std::int64_t placements = 0;
  std::int64_t speeds = 0;
  double running = 0;

 private:
  RecordSink& next_;
  Time now_;
  std::int64_t running_ = 0;
  double running_ms_ = 0;
};

Workload jobs_of(const Mix& mix, const SpeedTable& table, std::int64_t running, double gpus) {
  const double all = std::accumulate(mix.shares.begin(), mix.shares.end(), 0.0);
  double gang = 0;
  for (std::size_t i = 0; i < mix.gpus.size(); ++i) {
    gang += static_cast<double>(mix.gpus[i]) * mix.shares[i] / all;
  }
  constexpr double kMeanMs = 3'600'000;
  const double gap_ms = gang * kMeanMs / (gpus * mix.load);
  Rng rng(1);
  double now_ms = 0;
  WorkloadBuilder builder("network", Reading::kStrict);
  for (std::int64_t i = 0; i < 6 * running; ++i) {
    now_ms += rng.exponential(gap_ms);
    const std::string id = fmt::format("j{}", i);
    JobRow row;
    row.id = id;
    row.user = "ann";
    row.model = table.models[rng.below(table.models.size())].name;
    row.gpus = mix.gpus[rng.weighted(mix.shares)];
    row.submit = {std::llround(now_ms)};
    row.duration = {std::llround(kMeanMs * (0.5 + rng.uniform()))};
    FL_CHECK(builder.add(row, "network").has_value());
  }
  return builder.finish();
}

std::string cluster_of(const Mix& mix, std::int64_t running) {
  const std::int64_t racks = std::max<std::int64_t>(1, running * 10 / 3 / kNodeGpus / kRackNodes);
  return fmt::format(
      "links: {{pair_gbps: 1200, node_gbps: 1200, rack_gbps: 100, spine_gbps: 100,"
      " oversubscription: {}}}\n"
      "racks: [{{count: {}, nodes: {{count: {}, gpu_type: V100, gpus: {}}}}}]\n",
      mix.oversubscription, racks, kRackNodes, kNodeGpus);
}

void write_files(const Mix& mix, std::int64_t running, const std::string& folder) {
  const std::string yaml = cluster_of(mix, running);
  const Cluster cluster = valid(parse_cluster_yaml(yaml, "network"));
  const Workload workload =
      jobs_of(mix, valid(load_models("wang")), running, static_cast<double>(cluster.gpus));
  std::ofstream(folder + "/cluster.yaml") << yaml;
  std::ofstream trace(folder + "/trace.csv");
  trace << "job,user,gpus,submit_s,duration_s,model\n";
  const Jobs& jobs = workload.jobs;
  for (JobId job : ids<JobId>(jobs.size())) {
    trace << fmt::format("{},ann,{},{:.3f},{:.3f},{}\n", workload.names[job], jobs.gpus[job],
                         to_seconds(jobs.arrival[job]), to_seconds(workload.durations[job]),
                         workload.models[jobs.model[job]]);
  }
  fmt::print("{{\"policy\":\"{}\"}}\n", mix.policy);
}

void run(const Mix& mix, std::int64_t running, NetworkKind kind) {
  using Clock = std::chrono::steady_clock;
  const Cluster cluster = valid(parse_cluster_yaml(cluster_of(mix, running), "network"));
  const SpeedTable table = valid(load_models("wang"));
  Workload workload = jobs_of(mix, table, running, static_cast<double>(cluster.gpus));
  const std::size_t jobs = workload.jobs.size();
  Settings settings;
  settings.costs = Costs::none();
  settings.network = {.kind = kind};
  SimulationInputs inputs{.cluster = cluster,
                          .trace = Trace(std::move(workload)),
                          .settings = settings,
                          .models = table,
                          .seed = 1,
                          .measured = false};
  FL_CHECK(inputs.use_policy(mix.policy).has_value(), "{}", mix.policy);
  Simulation simulation = valid(Simulation::make(std::move(inputs)));
  JournalFile journal;
  Watch watch(journal);
  simulation.add_sink(watch);
  const auto begin = Clock::now();
  FL_CHECK(simulation.run().has_value());
  const double run_s = std::chrono::duration<double>(Clock::now() - begin).count();
  const SimulationCounts counts = simulation.counts();
  fmt::print(
      "{{\"mix\":\"{}\",\"gpus\":{},\"jobs\":{},\"running\":{:.0f},\"placements\":{},"
      "\"crossing\":{},\"link_updates\":{},\"speed_changes\":{},\"run_s\":{:.4f}}}\n",
      mix.name, cluster.gpus, jobs, watch.running, watch.placements, counts.gangs_on_links,
      counts.link_updates, watch.speeds, run_s);
}

int run_command(int argc, char** argv) {
  const auto argument = [&](int i) { return std::string_view(i < argc ? argv[i] : ""); };
  const auto mix = std::ranges::find(mixes(), argument(1), &Mix::name);
  const std::string_view what = argument(3);
  if (mix == mixes().end() || (what != "analytic" && what != "contention" && what != "files")) {
    std::fprintf(stderr,
                 "usage: bench_network packed|flat|fragmented|scattered RUNNING"
                 " analytic|contention|files [FOLDER]\n");
    return 2;
  }
  const std::int64_t running = std::atoll(argv[2]);
  if (what == "files") {
    write_files(*mix, running, std::string(argument(4)));
  } else {
    run(*mix, running, what == "contention" ? NetworkKind::kContention : NetworkKind::kAnalytic);
  }
  return 0;
}

}  // namespace
}  // namespace fairlead

int main(int argc, char** argv) { return fairlead::run_command(argc, argv); }
