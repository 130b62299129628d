// The policies that keep jobs in the order of one key: sjf, smallest, srsf, srtf and las.
//
// sjf does not preempt: the first waiting job without room blocks all behind it. The others preempt. las
// also checks the order at every quantum, so that equal jobs take turns. There most stopped jobs run again soon, so they
// return to their last gangs if they can: it saves their migrations.
#include "fairlead/model/known_work.h"
#include "fairlead/policy/kit/priority_policy.h"
#include "fairlead/policy/kit/queue_policy.h"
#include "fairlead/policy/policies.h"

namespace fairlead {
namespace {

// Returns a job's key; the smallest comes first.
using Key = std::int64_t (*)(const View& view, JobId job);

std::int64_t gang_gpus(const View& view, JobId job) { return view.jobs.gpus[job]; }
std::int64_t remaining_ms(const View& view, JobId job) { return view.work.remaining(job).ms; }
std::int64_t remaining_gpu_ms(const View& view, JobId job) {
  return saturated_gpu_ms(occupancy(view.work.remaining(job), view.jobs.gpus[job]));
}
std::int64_t attained_gpu_ms(const View& view, JobId job) {
  return saturated_gpu_ms(view.jobs.attained(job, view.now));
}
std::int64_t attained_ms(const View& view, JobId job) {
  return attained_gpu_ms(view, job) / view.jobs.gpus[job];
}

struct Order {
  std::string_view name;
  Key key;
  WorkNeeded work{};
  TieOrder ties = TieOrder::kByArrival;
  Duration quantum{};
  bool returns = false;  // jobs to their last gangs
};

class Preempting : public PriorityPolicy {
 public:
  Preempting(const Order& order, Placement placement)
      : PriorityPolicy(placement, order.ties, order.quantum, order.returns), order_(order) {}

  std::string_view name() const override { return order_.name; }
  Needs needs() const override { return {.work = order_.work}; }

 protected:
  std::int64_t key(const View& view, JobId job) const override { return order_.key(view, job); }

 private:
  const Order order_;
};

class Queueing : public QueuePolicy {
 public:
  Queueing(const Order& order, Placement placement)
      : QueuePolicy(OnMisfit::kStop, placement), order_(order) {}

  std::string_view name() const override { return order_.name; }
  Needs needs() const override { return {.work = order_.work}; }

 protected:
  OrderKey order(const View& view, JobId job) const override {
    return {.major = order_.key(view, job), .minor = view.jobs.arrival[job].ms, .job = job};
  }

 private:
  const Order order_;
};

template <class Kind>
Result<std::unique_ptr<Policy>> make(const Order& order, const PolicyOptions& options) {
  return std::make_unique<Kind>(order, options.placement());
}

constexpr OptionSpec kSjfOptions[] = {
    placement_option("count", "Placement of a gang; Helios itself uses consolidate."),
    kMixedOption,
};
constexpr OptionSpec kTiresiasOptions[] = {
    placement_option("count", "Placement of a gang; the default is the Tiresias simulator's."),
    kMixedOption,
    kUpgradeOption,
};
constexpr OptionSpec kLasOptions[] = {
    kTiresiasOptions[0],
    kTiresiasOptions[1],
    kTiresiasOptions[2],
    choice_option(
        "attained", "gpu-time", "gpu-time/time",
        "Attained service: GPUs x running time (Tiresias' two-dimensional LAS), or running time."),
    integer_option(
        "quantum_s", "60", "seconds", 1, 86400,
        "Time slice after which waiting jobs may preempt; the default is Gandiva's (OSDI 2018)."),
};

}  // namespace

const PolicyEntry kSjf = {
    .name = "sjf",
    .summary = "Shortest job first, without preemption.",
    .paper = "Hu et al., Helios, SC 2021 (baseline SJF)",
    .options = kSjfOptions,
    .make = [](const PolicyOptions& options) {
      return make<Queueing>({kSjf.name, remaining_ms, kEstimatedWork}, options);
    }};

const PolicyEntry kSmallest = {.name = "smallest",
                               .summary = "Fewest GPUs first, with preemption.",
                               .paper = "Gu et al., Tiresias, NSDI 2019 (simulator schedule sjf)",
                               .options = kTiresiasOptions,
                               .make = [](const PolicyOptions& options) {
                                 return make<Preempting>({kSmallest.name, gang_gpus}, options);
                               }};

const PolicyEntry kSrsf = {
    .name = "srsf",
    .summary = "Least remaining GPU time first, with preemption.",
    .paper = "Gu et al., Tiresias, NSDI 2019 (baseline SRSF; simulator schedule shortest-gpu)",
    .options = kTiresiasOptions,
    .make = [](const PolicyOptions& options) {
      return make<Preempting>({kSrsf.name, remaining_gpu_ms, kAnyWork, TieOrder::kStable}, options);
    }};

const PolicyEntry kSrtf = {
    .name = "srtf",
    .summary = "Shortest remaining time first, with preemption.",
    .paper = "Gu et al., Tiresias, NSDI 2019 (baseline SRTF; simulator schedule shortest)",
    .options = kTiresiasOptions,
    .make = [](const PolicyOptions& options) {
      return make<Preempting>({kSrtf.name, remaining_ms, kAnyWork, TieOrder::kStable}, options);
    }};

const PolicyEntry kLas = {
    .name = "las",
    .summary = "Least attained service first, with preemption every quantum.",
    .paper = "Gu et al., Tiresias, NSDI 2019 (section 3.2, without discretisation)",
    .options = kLasOptions,
    .make =
        [](const PolicyOptions& options) {
          return make<Preempting>(
              {.name = kLas.name,
               .key = options.choice("attained", {attained_gpu_ms, attained_ms}),
               .quantum = options.duration("quantum_s"),
               .returns = true},
              options);
        },
    .traits = [](const PolicyOptions& options) { return placement_traits(options, "quantum_s"); }};

}  // namespace fairlead
