// An external policy: the smallest gang first, without preemption. The program runs it and
// first-come, first-served on the same jobs, and prints both results.
#include <cstdio>
#include <fairlead/input/cluster_file.h>
#include <fairlead/policy/kit/queue_policy.h>
#include <fairlead/run/simulation.h>
#include <fairlead/trace/generate.h>

using fairlead::JobId, fairlead::OnMisfit, fairlead::OrderKey, fairlead::Placement, fairlead::View;

class SmallestGang : public fairlead::QueuePolicy {
 public:
  SmallestGang() : QueuePolicy(OnMisfit::kSkip, Placement::kBestFit) {}
  std::string_view name() const override { return "smallest-gang"; }

 protected:
  OrderKey order(const View& view, JobId job) const override {
    return {.major = view.jobs.gpus[job], .minor = view.jobs.arrival[job].ms, .job = job};
  }
};

// Runs the policy on 2,000 drawn jobs that need 90 % of 32 GPUs.
fairlead::Status simulate(std::unique_ptr<fairlead::Policy> policy) {
  FL_TRY_ASSIGN(cluster, fairlead::load_cluster("8xV100:4"));
  FL_TRY_ASSIGN(jobs, fairlead::generate({.jobs = 2000, .capacity_gpus = 32, .load = 0.9}));
  fairlead::SimulationInputs inputs{.cluster = cluster, .trace = fairlead::Trace(std::move(jobs))};
  if (policy == nullptr) FL_TRY(inputs.use_policy("fifo"));
  if (policy != nullptr) inputs.policy = std::move(policy);
  FL_TRY_ASSIGN(simulation, fairlead::Simulation::make(std::move(inputs)));
  FL_TRY(simulation.run());
  const fairlead::Summary summary = simulation.summary();
  std::printf("%-14s mean JCT %8.1f s, queueing %8.1f s, %4.1f %% utilised\n",
              summary.policy.c_str(), *summary.jct_avg_s, *summary.queue_avg_s,
              100 * *summary.gpu_utilization);
  return {};
}

int main() {
  for (const bool own : {false, true}) {
    const fairlead::Status status = simulate(own ? std::make_unique<SmallestGang>() : nullptr);
    if (!status) return std::fprintf(stderr, "%s\n", status.error().message.c_str()), 1;
  }
}
