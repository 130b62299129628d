#include "fairlead/policy/optimus/shares.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <vector>

namespace fairlead {
namespace {

struct Step {
  double gain = 0;  // time left that one GPU takes off; of equal shares 1 / its GPUs
  std::size_t job = 0;
  std::uint32_t gpus = 0;  // after the step
  // The largest gain is on top.
  friend bool operator<(const Step& a, const Step& b) {
    return a.gain != b.gain ? a.gain < b.gain : a.job > b.job;
  }
};

class Shares {
 public:
  Shares(std::span<ElasticJob> jobs, std::span<std::uint32_t> left, const TimeLeft& time_left,
         double restart, bool equal)
      : jobs_(jobs), left_(left), time_left_(time_left), restart_(restart), equal_(equal) {}

  void give_smallest() {
    std::vector<std::size_t> order(jobs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t job) { return jobs_[job].gpus_min; });
    for (std::size_t job : order) {
      ElasticJob& each = jobs_[job];
      each.type = best_type(job);
      each.gpus = each.type.is_none() ? 0 : each.gpus_min;
      if (each.gpus > 0) left_[each.type.row()] -= each.gpus;
    }
  }

  void give_steps() {
    for (std::size_t job = 0; job < jobs_.size(); ++job) push_step(job);
    while (!steps_.empty()) {
      const Step step = steps_.top();
      steps_.pop();
      ElasticJob& job = jobs_[step.job];
      const std::uint32_t more = step.gpus - job.gpus;
      // Fewer GPUs are left than when the step was found, and every other better size is larger.
      if (more > left_[job.type.row()]) continue;
      left_[job.type.row()] -= more;
      job.gpus = step.gpus;
      push_step(step.job);
    }
  }

 private:
  GpuTypeId best_type(std::size_t job) const {
    GpuTypeId best;
    double least = 0;
    for (GpuTypeId type : ids<GpuTypeId>(left_.size())) {
      const ElasticJob& each = jobs_[job];
      if ((each.types & type_bit(type)) == 0 || left_[type.row()] < each.gpus_min) continue;
      const bool stays = each.allocated == 0 || type == each.allocated_type;
      const double time = time_left_(job, type, each.gpus_min) + (stays ? 0 : restart_);
      if (!best.is_none() && time >= least) continue;
      best = type;
      least = time;
    }
    return best;
  }

  double time_with(std::size_t index, std::uint32_t gpus) const {
    const ElasticJob& job = jobs_[index];
    const bool stays =
        job.allocated == 0 || (job.type == job.allocated_type && gpus == job.allocated);
    return time_left_(index, job.type, gpus) + (stays ? 0 : restart_);
  }

  void push_step(std::size_t index) {
    const ElasticJob& job = jobs_[index];
    if (job.gpus == 0 || job.gpus == job.gpus_max) return;
    const std::uint32_t most = job.gpus + std::min(job.gpus_max - job.gpus, left_[job.type.row()]);
    const double now = time_with(index, job.gpus);
    for (std::uint32_t gpus = job.gpus + job.task_gpus; gpus <= most; gpus += job.task_gpus) {
      const double then = time_with(index, gpus);
      if (then >= now) continue;
      const double gain = equal_ ? 1.0 / job.gpus : (now - then) / (gpus - job.gpus);
      steps_.push({.gain = gain, .job = index, .gpus = gpus});
      return;
    }
  }

  const std::span<ElasticJob> jobs_;
  const std::span<std::uint32_t> left_;
  const TimeLeft& time_left_;
  const double restart_;
  const bool equal_;
  std::priority_queue<Step> steps_;  // at most one per job
};

}  // namespace

void share_by_gain(std::span<ElasticJob> jobs, std::span<std::uint32_t> left,
                   const TimeLeft& time_left, double restart) {
  Shares shares(jobs, left, time_left, restart, false);
  shares.give_smallest();
  shares.give_steps();
}

void share_equally(std::span<ElasticJob> jobs, std::span<std::uint32_t> left,
                   const TimeLeft& time_left, double restart) {
  Shares shares(jobs, left, time_left, restart, true);
  shares.give_smallest();
  shares.give_steps();
}

}  // namespace fairlead
