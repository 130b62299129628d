// Every job an equal share of time, whatever its gang: the "gandiva_fair" of Shockwave's simulator
// (NSDI 2023), which has no tickets and no trading and is a lower bound for fair policies.
//
// If there are G GPUs and n jobs, each job is entitled to min(1, G / n) of time. The job that has
// received the least of its entitlement runs first. A gang of four thus receives four times the GPU
// time of a gang of one.
#include "fairlead/policy/policies.h"
#include "fairlead/policy/stride/stride_policy.h"

#include <algorithm>

namespace fairlead {
namespace {

// The pass of a job is received time / entitled time.
class Proportional : public StridePolicy {
 public:
  using StridePolicy::StridePolicy;
  std::string_view name() const override { return kProportional.name; }

  void decide(const View& view, Plan& plan) override {
    if (joined_.size() < view.jobs.size()) joined_.resize(view.jobs.size());
    entitled_ms_ += part_ * static_cast<double>((view.now - now_).ms);
    now_ = view.now;
    StridePolicy::decide(view, plan);
    const auto gpus = static_cast<double>(plan.free().capacity());
    part_ = queue().empty() ? 0 : std::min(1.0, gpus / static_cast<double>(queue().size()));
  }

  void fields(Archive& archive) override {
    StridePolicy::fields(archive);
    archive(now_, part_, entitled_ms_);
    for (const StrideClient& client : queue()) archive(joined_.grow_to(client.job));
  }

 protected:
  void update(const View& view, StrideClient& client, GpuTime) override {
    const double entitled_ms = entitled_ms_ - joined_[client.job];
    const GpuTime received = view.jobs.attained(client.job, view.now);
    const double received_ms = static_cast<double>(received.gpu_ms) / client.gpus;
    client.pass = entitled_ms > 0 ? received_ms / entitled_ms : 0;
  }

  void charge_user(const View&, UserId, GpuTime) override {
  }  // jobs have shares, and users have none

  void join(StrideClient& newcomer, const MeanPass&) override {
    joined_[newcomer.job] = entitled_ms_;
    newcomer.pass = 0;
  }

 private:
  Time now_;
  double part_ = 0;                 // fraction of time that each job is entitled to, since now_
  double entitled_ms_ = 0;          // its integral: the entitlement of a job that was here from the
                                    // start
  IdVector<JobId, double> joined_;  // that integral when the job arrived
};

constexpr OptionSpec kOptions[] = {
    integer_option("round_s", "120", "seconds", 1, 86400,
                   "Interval of decisions; the default is Shockwave's."),
    placement_option("best-fit", "Placement of a gang; the default keeps gangs together (ours)."),
    kMixedOption,
};

}  // namespace

const PolicyEntry kProportional = {
    .name = "proportional",
    .summary = "Every job an equal share of time, whatever its gang; no tickets.",
    .paper = "Zheng et al., Shockwave, NSDI 2023 (its simulator's gandiva_fair)",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Proportional>(StrideOptions{.placement = options.placement(),
                                                          .quantum = options.duration("round_s"),
                                                          .one_at_a_time = false,
                                                          .skip = true,
                                                          .cap = false});
    },
    .traits = [](const PolicyOptions& options) { return placement_traits(options, "round_s"); }};

}  // namespace fairlead
