// FfDL: jobs queue in order of arrival and are admitted whole, on the nodes that Kubernetes would
// choose.
//
// All learners of a job or none: the gang scheduling that FfDL adds to Kubernetes. The first job
// that finds no room blocks all behind it. No job is preempted.
#include "fairlead/policy/kit/queue_policy.h"
#include "fairlead/policy/policies.h"

namespace fairlead {
namespace {

class Ffdl : public QueuePolicy {
 public:
  explicit Ffdl(Placement placement) : QueuePolicy(OnMisfit::kStop, placement) {}

  std::string_view name() const override { return kFfdl.name; }

 protected:
  OrderKey order(const View& view, JobId job) const override {
    return {.major = view.jobs.arrival[job].ms, .job = job};
  }
};

constexpr OptionSpec kOptions[] = {
    choice_option("placement", "pack", "pack/spread",
                  "Fewest nodes (pack, ours), or each GPU on the node with the most free GPUs at "
                  "that moment (spread, Kubernetes' default)."),
    kMixedOption,
};

Placement ffdl_placement(const PolicyOptions& options) {
  return options.choice("placement", {Placement::kBestFit, Placement::kSpread})
      .mixing(options.flag(kMixedOption.name));
}

}  // namespace

const PolicyEntry kFfdl = {
    .name = "ffdl",
    .summary = "First come, first served by whole gangs on Kubernetes, packed or spread.",
    .paper = "Jayaram et al., FfDL, Middleware 2019",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Ffdl>(ffdl_placement(options));
    },
    .traits =
        [](const PolicyOptions& options) {
          return PlacementTraits{.placement = ffdl_placement(options)};
        }};

}  // namespace fairlead
