// The GPUs of the machine that no job may have now, and why.
//
// Five causes: a foreign process computes on the GPU, of no job or of a job with other GPUs (local/foreign_notices.h); the
// driver reports an error or no longer lists it; tasks fail at once on it (local/gpu_blame.h); an administrator closed it;
// the daemon does not serve it. A job that has such a GPU already keeps it, and no other job follows: idle ones are down for
// the engine, and starts on them are taken back.
//
// The file "gpus" of the daemon's folder keeps the numbers of the GPUs by name, and the closed ones. After a crash the
// engine's tables are brought into its state.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/engine/inbox.h"
#include "fairlead/engine/tables.h"
#include "fairlead/io/io.h"
#include "fairlead/local/foreign_charges.h"
#include "fairlead/local/foreign_notices.h"
#include "fairlead/local/gpu_blame.h"
#include "fairlead/local/gpu_file.h"
#include "fairlead/local/machine.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

class GpuWatch {
 public:
  // Returns whether a task has the GPU; true if its GPUs are not known.
  using IsGiven = std::function<bool(TaskId task, std::uint32_t gpu)>;

  // Reads the file. REQUIRES: the arguments outlive this.
  GpuWatch(Io& io, const Tables& tables, const Machine& machine, Inbox& inbox, IsGiven is_given,
           OnForeign on_foreign);

  // Asks the driver, and reports changes to the engine.
  void look(Time now);
  void on_time(Time now);
  Time deadline() const;
  // Returns the time of the last look at the driver, and its report by GPU; empty: no driver can report.
  std::span<const int> busy_percent() const { return look_.busy_percent; }
  std::span<const int> power_w() const { return look_.power_w; }
  std::span<const GpuMemory> memory() const { return look_.memory; }
  // Returns the largest memory of a GPU of each type, in 10^6 bytes; 0: not known.
  IdVector<GpuTypeId, std::uint32_t> memory_mb_of_types() const;
  bool has_looked_at(Time now) const { return looked_at_ == now; }
  // Returns the processes on GPUs that belong to no task, or to a task that was not given the GPU.
  std::span<const GpuProcess> foreign() const { return look_.processes; }
  const ForeignNotices& notices() const { return notices_; }
  // Returns the user that is charged for a foreign process: of its job, otherwise of its account. Empty: none. No user is
  // charged for a process without a job of root or of a uid without an account, on a GPU that is not served, or on one
  // that a running job of the same user has.
  std::string_view charged_user(const GpuProcess& process) const;

  // Returns whether a job may start on these GPUs.
  bool are_usable(std::span<const std::uint32_t> gpus) const;
  // Reports the unusable ones among the GPUs as down. REQUIRES: no job works on them.
  void refuse(std::span<const std::uint32_t> gpus);

  // Closes a GPU for an administrator, or opens it, whatever closed it. Error: the file cannot be written.
  Status cordon(std::uint32_t gpu);
  Status uncordon(std::uint32_t gpu);
  Status uncordon(NodeId node);  // all of its GPUs

  // Notes the end of a job's task on these GPUs.
  void on_failed_at_once(Time now, const GpuBlame::Try& what, std::string_view end,
                         bool is_retried);
  void on_good(const GpuBlame::Try& what);
  bool is_suspect(std::uint32_t gpu) const { return blame_.is_suspect(gpu); }

  struct Outage {
    std::string_view cause;  // "administrator", "failures", "driver", "absent", "not served"
    std::string reason;      // within a sentence
  };
  // Returns the unusable GPUs, except the GPUs of foreign processes. O(GPUs).
  std::map<std::uint32_t, Outage> outages(Time now) const;

 private:
  std::optional<Outage> outage(std::uint32_t gpu, Time now) const;
  bool is_usable(std::uint32_t gpu) const;
  // Returns whether the GPU is out of service for no known time, by no choice of an administrator.
  bool is_broken(std::uint32_t gpu) const;
  void unpin_from_broken();
  std::uint64_t unusable(NodeId node) const;
  std::uint64_t mask_of(NodeId node, const auto& gpus) const;
  bool has_gpu(std::string_view user, std::uint32_t gpu) const;
  void charge(Time now);
  void settle();
  // Writes the file if it has changed.
  Status keep();

  Io& io_;
  const Tables& tables_;
  const Machine& machine_;
  Inbox& inbox_;
  const FirstGpus first_;
  GpuFile file_;
  GpuBlame blame_;
  const IsGiven is_given_;
  GpuLook look_;  // only foreign processes are kept
  const OnForeign on_foreign_;
  ForeignNotices notices_;
  ForeignCharges charges_;
  Time looked_at_ = Time::never();
  Time next_look_;
};

}  // namespace fairlead
