#include "fairlead/metrics/weighted_gpu_time.h"

#include "fairlead/base/overloaded.h"

#include <utility>

namespace fairlead {

void WeightedGpuTime::on(const Record& record) {
  const Time t = record.t;
  std::visit(Overloaded{
                 [&](const record::Node& node) {
                   usable_.settle(t);
                   node_type_.push_back(node.type);
                   gpus_.on(node);
                   usable_.rate += static_cast<double>(gpus_.of(node.node)) * weight_of(node.node);
                 },
                 [&](const ChangesUsableGpus auto& change) {
                   usable_.settle(t);
                   const std::int64_t before = gpus_.of(change.node);
                   gpus_.on(change);
                   usable_.rate +=
                       static_cast<double>(gpus_.of(change.node) - before) * weight_of(change.node);
                 },
                 [&](const record::Arrived&) {
                   if (!std::exchange(has_begun_, true)) usable_ = {usable_.rate, t};
                 },
                 [&](const record::Place& place) { on_place(t, place); },
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& left) {
                   leave(t, left.job);
                 },
                 [&](const OneOf<record::Stop, record::Evicted, record::StartFailed> auto& ended) {
                   end_run(t, ended.job);
                 },
                 [&](const record::End& end) { on_end(t, end); },
                 [](const auto&) {},
             },
             record.what);
}

WeightedGpuTime::Sum& WeightedGpuTime::settled(Time t, JobId job) {
  Sum& sum = jobs_.grow_to(job);
  sum.settle(t);
  return sum;
}

// Copies of a job are placed one after another.
void WeightedGpuTime::on_place(Time t, const record::Place& place) {
  Sum& sum = settled(t, place.job);
  for (const Slice slice : place.gang) sum.rate += slice.gpus * weight_of(slice.node);
}

void WeightedGpuTime::end_run(Time t, JobId job) { settled(t, job).rate = 0; }

void WeightedGpuTime::leave(Time t, JobId job) {
  end_run(t, job);
  usable_.settle(t);
  usable_at_leave_ = usable_.sum;
}

void WeightedGpuTime::on_end(Time t, const record::End& end) {
  usable_.settle(t);
  if (end.counts.pending == 0) usable_.sum = usable_at_leave_;
  for (JobId job : ids<JobId>(jobs_.size())) {
    end_run(t, job);
    of_jobs_ += jobs_[job].sum;
  }
}

}  // namespace fairlead
