// First come, first served.
//
// fifo: jobs start in order of arrival. Strictly, the first job that finds no room holds up
// everyone behind it; with skip=true those behind are tried (Tiresias' fjf, "fit job first").
// yarn-cs: the same on whole nodes of one rack, what the Tiresias paper compares with as YARN-CS.
#include "policy/policies.h"
#include "policy/queue_policy.h"

namespace fairlead {
namespace {

class Fifo : public QueuePolicy {
 public:
  Fifo(std::string_view name, const PolicyOptions& options)
      : QueuePolicy(options.flag("skip") ? OnMisfit::kSkip : OnMisfit::kStop, options.placement()),
        name_(name) {}

  std::string_view name() const override { return name_; }

 protected:
  OrderKey order(const View& view, JobId job) const override {
    return {.major = view.jobs.arrival[job].ms, .job = job};
  }

 private:
  const std::string_view name_;
};

constexpr OptionSpec kSkip = {
    .name = "skip",
    .type = OptionType::kFlag,
    .fallback = "false",
    .unit = "",
    .choices = "",
    .help = "Try the jobs behind one that finds no room; the default is the peers' strict FIFO."};

constexpr OptionSpec kFifoOptions[] = {
    placement_option("count", "How GPUs are found; the default is the Tiresias simulator's."),
    kSkip,
};
constexpr OptionSpec kYarnCsOptions[] = {
    placement_option("yarn", "How GPUs are found; the default is YARN-CS's."),
    kSkip,
};

template <const PolicyEntry& entry>
Result<std::unique_ptr<Policy>> make(const PolicyOptions& options) {
  return std::make_unique<Fifo>(entry.name, options);
}

}  // namespace

const PolicyEntry kFifo = {
    .name = "fifo",
    .summary = "First come, first served, without preemption.",
    .paper = "Gu et al., Tiresias, NSDI 2019 (baseline; simulator schedules fifo and fjf)",
    .options = kFifoOptions,
    .make = make<kFifo>};

const PolicyEntry kYarnCs = {
    .name = "yarn-cs",
    .summary = "First come, first served on whole nodes of one rack, without preemption.",
    .paper = "Gu et al., Tiresias, NSDI 2019 (baseline YARN-CS)",
    .options = kYarnCsOptions,
    .make = make<kYarnCs>};

}  // namespace fairlead
