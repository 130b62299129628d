// First come, first served: the queue policy of fifo and of yarn-cs, which place differently.
#pragma once

#include "fairlead/policy/kit/queue_policy.h"
#include "fairlead/policy/registry.h"

namespace fairlead {

class ArrivalQueue : public QueuePolicy {
 public:
  // REQUIRES: `options` has skip and placement.
  ArrivalQueue(std::string_view name, const PolicyOptions& options)
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

inline constexpr OptionSpec kSkipOption =
    flag_option("skip", "false",
                "Try the jobs behind one that finds no room; the default is the strict order of "
                "the Tiresias and Helios simulators.");

template <const PolicyEntry& entry>
Result<std::unique_ptr<Policy>> make_arrival_queue(const PolicyOptions& options) {
  return std::make_unique<ArrivalQueue>(entry.name, options);
}

}  // namespace fairlead
