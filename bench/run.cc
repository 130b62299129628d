// Measures the cost of a decision: one whole run of the engine on a generated workload, without
// files.
//
//   bench_run POLICY JOBS GPUS LOAD
//
// Prints one JSON line: counts (events, decisions, steps, allocations in the second half of the
// events), nanoseconds per event, and the longest queue. The journal is encoded and hashed, as in
// every run, but not written.

#include "fairlead/base/overloaded.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/model/workload.h"
#include "fairlead/run/simulation.h"
#include "fairlead/trace/generate.h"
#include "testing/allocation_counter.h"

#include "valid.h"
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>

namespace fairlead {
namespace {

// Counts waiting jobs from the records of the journal.
class QueueLength : public RecordSink {
 public:
  explicit QueueLength(RecordSink& next) : next_(next) {}
  void on(const Record& record) override {
    next_.on(record);
    std::visit(Overloaded{[&](const OneOf<record::Arrived, record::Stop> auto&) { ++waiting_; },
                          [&](const record::Place&) { --waiting_; },
                          [&](const record::Finished&) { ++finished; }, [](const auto&) {}},
               record.what);
    // Steps of one decision come stops first, so look only where a new instant begins.
    if (record.t != now_) longest = std::max(longest, waiting_);
    now_ = record.t;
  }
  std::int64_t longest = 0;
  std::int64_t finished = 0;

 private:
  RecordSink& next_;
  std::int64_t waiting_ = 0;
  Time now_;
};

void run(const std::string& policy_text, std::int64_t jobs, std::int64_t gpus, double load) {
  using Clock = std::chrono::steady_clock;
  GenerateOptions options;
  options.jobs = jobs;
  options.capacity_gpus = gpus;
  options.load = load;
  Settings settings;
  settings.costs = Costs::none();
  SimulationInputs inputs{.cluster = valid(load_cluster(fmt::format("{}xV100:8", gpus / 8))),
                          .trace = Trace(valid(generate(options))),
                          .settings = settings,
                          .models = SpeedTable(),
                          .seed = 1,
                          .measured = false};
  FL_CHECK(inputs.use_policy(policy_text).has_value(), "{}", policy_text);
  Simulation simulation = valid(Simulation::make(std::move(inputs)));
  JournalFile journal;
  QueueLength queue(journal);
  simulation.add_sink(queue);

  const auto begin = Clock::now();
  std::int64_t allocations_at_half = 0;
  while (valid(simulation.step())) {
    if (simulation.counts().events <= jobs) allocations_at_half = allocations_so_far();
  }
  const double run_s = std::chrono::duration<double>(Clock::now() - begin).count();
  const std::int64_t allocations = allocations_so_far() - allocations_at_half;
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const SimulationCounts counts = simulation.counts();
  fmt::print(
      "{{\"policy\":\"{}\",\"jobs\":{},\"gpus\":{},\"load\":{},\"finished\":{},\"events\":{},"
      "\"decisions\":{},\"steps\":{},\"queue_max\":{},\"allocations_second_half\":{},"
      "\"run_s\":{:.3f},\"ns_per_event\":{:.0f},\"peak_rss_mb\":{}}}\n",
      policy_text, jobs, gpus, load, queue.finished, counts.events, counts.decisions, counts.steps,
      queue.longest, allocations, run_s, run_s * 1e9 / static_cast<double>(counts.events),
      usage.ru_maxrss / 1024);
}

}  // namespace
}  // namespace fairlead

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bench_run POLICY JOBS GPUS LOAD\n");
    return 2;
  }
  fairlead::run(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), std::atof(argv[4]));
  return 0;
}
