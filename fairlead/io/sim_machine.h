// The machine of a SimIo beside its disk and its tasks: GPUs as their driver reports them, foreign processes on them,
// accounts, and the notifications that were sent.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/io/io.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

class SimMachine {
 public:
  // Gives it GPUs with a driver. Stand-in GPUs, the default, report no load.
  void set_gpus(std::uint32_t count) {
    report_ = {.busy_percent = std::vector<int>(count, -1),
               .errors{count, ""},
               .memory = std::vector<GpuMemory>(count),
               .power_w = std::vector<int>(count, -1)};
  }
  // Returns the number of GPUs with a driver.
  std::size_t gpus() const { return report_.busy_percent.size(); }
  // The driver's report of their load and errors.
  GpuLook& gpu_report() { return report_; }
  // Lets a foreign process compute on a GPU until then, by default one of no task that ends at SIGTERM.
  void add_foreign(std::uint32_t gpu, Time until, TaskId task = {}, bool ignores_term = false,
                   std::string user = "user9");
  // Ends a foreign process as SIGTERM does, or as SIGKILL if `by_force`.
  void end_process(std::uint64_t pid, bool by_force);
  // Returns how often end_process() was called.
  int end_requests() const { return end_requests_; }
  void end_foreign() { foreign_.clear(); }
  // Ends the foreign processes that are over.
  void settle(Time now);
  // Returns the report to a daemon, which has seen the foreign processes from then on.
  GpuLook look();
  // Returns one of the GPUs that has a foreign process that a daemon has seen.
  std::optional<std::uint32_t> seen_foreign(std::span<const std::uint32_t> gpus, Time now) const;

  // Makes a user a member of a group; without, users are in none.
  void add_to_group(std::uint32_t uid, std::string group) {
    groups_[uid].push_back(std::move(group));
  }
  std::vector<std::string> groups_of(std::uint32_t uid) const;

  void notify(Notification notification) { notifications_.push_back(std::move(notification)); }
  // Returns the notifications of all daemons, in order.
  const std::vector<Notification>& notifications() const { return notifications_; }

 private:
  struct Foreign {
    GpuProcess process;
    Time until;
    bool ignores_term = false;
    bool is_seen = false;  // a daemon has received its event
  };
  std::vector<Foreign> foreign_;
  std::uint64_t foreigners_ = 0;
  int end_requests_ = 0;
  GpuLook report_;  // without the foreign processes; empty: they are stand-ins
  std::map<std::uint32_t, std::vector<std::string>> groups_;
  std::vector<Notification> notifications_;
};

}  // namespace fairlead
