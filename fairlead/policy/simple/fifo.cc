// First come, first served: jobs start in order of arrival. Strictly, the first job that finds no
// room blocks all behind it. With skip=true the jobs behind it are tried (Tiresias' fjf, "fit job
// first"). With backfill= they start only if they delay no job that was promised a time.
#include "fairlead/policy/kit/arrival_queue.h"
#include "fairlead/policy/kit/backfill.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <tuple>

namespace fairlead {
namespace {

// Looks at jobs by arrival, at most `jobs_max`. A job that loses its gang is back at its old place.
class BackfillingFifo : public Policy {
 public:
  BackfillingFifo(Backfill::Limits limits, Placement placement, std::int64_t jobs_max)
      : jobs_max_(jobs_max), backfill_(limits, placement) {}

  std::string_view name() const override { return kFifo.name; }
  Needs needs() const override { return {.work = kAnyWork}; }
  void decide(const View& view, Plan& plan) override {
    if (view.waiting.empty() || plan.free().total() == 0) return;
    order_.assign(view.waiting.begin(), view.waiting.end());
    const auto last = order_.begin() + std::min<std::int64_t>(jobs_max_, std::ssize(order_));
    std::ranges::partial_sort(order_, last, {},
                              [&](JobId job) { return std::pair(view.jobs.arrival[job], job); });
    order_.erase(last, order_.end());
    backfill_.begin(view, plan, [&](JobId job) { return expected_end(view, job, {}); });
    for (JobId job : order_) {
      if (plan.free().total() == 0) return;
      backfill_.start(view, plan, job, expected_length(view, job, {}));
    }
  }
  void fields(Archive& /*archive*/) override {}

 private:
  const std::int64_t jobs_max_;
  Backfill backfill_;
  std::vector<JobId> order_;  // order of the present decision
};

constexpr OptionSpec kOptions[] = {
    placement_option("count", "Placement of a gang; the default is the Tiresias simulator's."),
    kMixedOption,
    kSkipOption,
    choice_option(
        "backfill", "none", "none/easy/conservative",
        "Start jobs behind one that finds no room, if they delay no job that was promised "
        "a time: the first such job (easy; Lifka 1995) or each (conservative)."),
    integer_option("backfill_jobs", "500", "jobs", 1, 1'000'000,
                   "How many of the waiting jobs backfilling looks at; Slurm's bf_max_job_test."),
};

Result<std::unique_ptr<Policy>> make_fifo(const PolicyOptions& options) {
  if (options.is("backfill", "none")) return make_arrival_queue<kFifo>(options);
  if (options.flag("skip"))
    return input_error("policy fifo: skip=true leaves nothing to backfill={}: give one of them",
                       options.text("backfill"));
  const Backfill::Limits limits{.reservations = options.is("backfill", "easy") ? 1 : Backfill::kAll,
                                .window = {kMsMax},
                                .resolution = {1}};
  return std::make_unique<BackfillingFifo>(limits, options.placement(),
                                           options.integer("backfill_jobs"));
}

}  // namespace

const PolicyEntry kFifo = {
    .name = "fifo",
    .summary = "First come, first served, without preemption.",
    .paper = "Gu et al., Tiresias, NSDI 2019 (baseline; simulator schedules fifo and fjf)",
    .options = kOptions,
    .make = make_fifo};

}  // namespace fairlead
