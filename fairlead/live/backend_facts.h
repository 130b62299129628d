// Facts about jobs and GPUs that a daemon's backend has and the engine's tables lack, for the answers to clients.
//
// A daemon has one of these beside its tables. All functions are called on the daemon's thread, between two steps.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/io/io.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

class BackendFacts {
 public:
  virtual ~BackendFacts() = default;

  // Returns the calendar's milliseconds since 1970 at a time of the engine.
  virtual std::int64_t unix_ms(Time t) const = 0;
  // Returns the job's name within a sentence: "job 3 of ann", "ann/train".
  virtual std::string name_of(JobId job) const = 0;
  // Returns true if the processes of the job, once stopped, stay frozen on its GPUs. Its next placement there is then
  // no restart.
  virtual bool rests_in_place(JobId job) const = 0;

  // Facts about a job of which a backend may know nothing.
  struct JobFacts {
    struct Retries {
      std::vector<RunId> runs{};  // the runs that ended badly and were followed by another
      std::size_t most = 0;
      std::size_t used() const { return runs.size(); }
    };
    struct Progress {
      double done = 0;   // units, for example steps
      double total = 0;  // 0: not reported
      double unit_per_s = 0;
    };
    Duration limit;  // on its time with GPUs; zero: none
    std::optional<Retries> retries{};
    std::string_view
        lost{};  // progress that its last move lost, "from 1200 to 37 steps"; empty: none
    // The condition of its start, for "it starts after job 12": "after job 12"; empty: none.
    std::string after{};
    std::uint32_t gpu_memory_mb = 0;  // that it needs of each GPU, in 10^6 bytes; 0: not stated
    // Its limits on the machine; 0: none. Memory in 10^6 bytes, processors in thousandths.
    std::uint32_t memory_mb = 0;
    std::uint32_t cpu_milli = 0;
    std::string_view priority = "normal";  // its name, among its user's jobs
    std::string_view notify = "never";     // the ends that start a notification
    Duration idle;  // time for which it has left all of its GPUs idle; zero: unknown, or not long
    std::optional<Progress> progress{};
    struct Speed {
      double unit_per_s = 0;
      std::string unit{};              // "steps"
      std::string_view sensor{};       // "hook": its name in the API
      std::string_view sensor_text{};  // "its optimizer steps"
    };
    std::optional<Speed> speed{};  // as measured
    // The load of its GPUs since its processes started, a weak sign of speed.
    struct Load {
      double busy_percent = 0;          // the mean over looks at the driver
      std::optional<double> power_w{};  // of one GPU, the same mean
    };
    std::optional<Load> load{};
  };
  virtual JobFacts of(JobId, Time /*now*/) const { return {}; }
  // Returns the processes on GPUs that belong to no job, or to a job with other GPUs, by GPU. A backend that knows any has one
  // host.
  virtual std::span<const GpuProcess> foreign() const { return {}; }
  // Returns when one of these is asked to end, which may be over; never: it is not ended.
  virtual Time end_of(const GpuProcess& /*foreign*/) const { return Time::never(); }
  // Returns the user that is charged for one of these; empty: there is none.
  virtual std::string_view charged_user(const GpuProcess& /*foreign*/) const { return {}; }
  // A GPU that no job may have, for another cause than a foreign process.
  struct Outage {
    std::uint32_t gpu = 0;   // its number on its host
    std::string_view cause;  // "administrator", "failures", "driver", "absent", "not served"
    std::string reason;      // within a sentence
    std::string_view state;  // "closed" or "down"
  };
  // Returns them by GPU. A backend that knows any has one host.
  virtual std::vector<Outage> outages(Time /*now*/) const { return {}; }
  // Returns the number of GPUs that a user's jobs may have at once; 0: any number.
  virtual std::uint32_t gpus_max(std::string_view /*user*/) const { return 0; }
  struct Group {
    std::string name;
    std::uint32_t gpus_max = 0;   // that the jobs of its users may have at once
    std::vector<UserId> users{};  // that have jobs here
  };
  // Returns the groups with a limit, by name.
  virtual std::vector<Group> groups() const { return {}; }
  // A reservation of GPUs that is not over.
  struct Reservation {
    std::uint32_t id = 0;
    std::string holder;
    bool is_group = false;  // the holder is a group
    std::uint32_t gpus = 1;
    std::string_view type{};  // the type of the GPUs
    std::int64_t from_unix_ms = 0;
    std::int64_t to_unix_ms = 0;
    std::string_view state{};  // "planned", "in force", "lent"
  };
  // Returns them by id. A backend that has any runs the jobs of one host.
  virtual std::vector<Reservation> reservations(Time /*now*/) const { return {}; }
  // Returns whether processes of a job that is over are still there.
  virtual bool is_ending(JobId) const { return false; }
  // Returns a sentence about the way to release a job that its user holds; empty: there is none.
  virtual std::string release_hint(JobId) const { return {}; }
};

}  // namespace fairlead
