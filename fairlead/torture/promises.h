// The requests that clients know to be done. A daemon is judged by them, whatever its own state is.
#pragma once

#include "fairlead/io/sim_tasks.h"
#include "fairlead/model/jobs.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

// The group of all users in some worlds.
constexpr const char* kGroup = "lab";

// The memory of each GPU in some worlds, in 10^6 bytes.
constexpr std::uint32_t kGpuMemoryMb = 80'000;
// The memory of the machine in the same worlds.
constexpr std::uint32_t kHostMemoryMb = 160'000;
// The processors of the machine in worlds with jobs without GPUs, each of which has one at least.
constexpr std::uint32_t kHostCpus = 3;

// One submission; each has another name.
struct Submitted {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gpus = 1;        // 0: it needs none
  std::uint32_t copies_max = 1;  // 0: any number
  SimWork work;
  Duration limit{};                 // zero: none
  std::uint32_t gpu_memory_mb = 0;  // that it needs of each GPU; 0: not stated
  std::uint32_t memory_mb = 0;      // that it needs of the machine; 0: not stated
  std::uint32_t priority = 1;       // 0: low, 2: high
  std::vector<JobId> after{};       // that must end before it starts,
  bool needs_good_ends = false;     // and well
  std::optional<JobId> acknowledged{};
};

// The acknowledged tasks of an array.
struct TaskArray {
  JobId first;
  JobId last;
  std::uint32_t at_once = 0;
};

struct Promises {
  std::vector<Submitted> submissions;
  std::vector<TaskArray> arrays{};
  std::map<std::string, std::size_t, std::less<>> by_name;
  std::map<JobId, std::size_t> acknowledged;  // to positions in `submissions`
  std::map<JobId, std::string> ended;         // the state at the end, as in the API
  std::set<JobId> cancels_asked;              // with any answer, or none
  std::set<JobId> cancelled;                  // acknowledged requests
  // The last acknowledged values that no later request contests.
  std::set<JobId> held;
  std::map<std::string, std::int64_t> tickets;  // tickets of users
  std::map<std::string, std::uint32_t>
      limits;  // GPUs of users, or of the group, at once; 0: any number
  // Changes of one of these that are under way, or were and it is not known what became of them.
  struct Asked {
    int count = 0;
    bool is_contested = false;  // there were two at a time, in either order
    void add() { is_contested = ++count > 1 || is_contested; }
    // Returns true if the requested value is certain now.
    bool settle() { return --count == 0 && !std::exchange(is_contested, false); }
  };
  std::map<JobId, Asked> holds_asked;
  std::map<std::string, Asked> tickets_asked;
  std::map<std::string, Asked> limits_asked;
  std::uint32_t reservations_asked = 0;  // their numbers are at most this
  // The first thing that a client found wrong; empty: nothing.
  std::string problem;

  void wrong(std::string what) {
    if (problem.empty()) problem = std::move(what);
  }
};

}  // namespace fairlead
