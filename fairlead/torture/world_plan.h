// The world that a seed draws to torture a daemon: its machine, its users, its faults, and its crashes.
// Every part has its own stream of random numbers, so that a world with less of one part is otherwise
// the same. Shrinking a failing world relies on this.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/sim_io.h"
#include "fairlead/serve/server.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct Crash {
  std::uint64_t call = 0;  // number of the Io's call, among all calls in the world
  Outage outage = Outage::kDaemon;
};

// Parts of a world that are given instead of drawn.
struct WorldLimits {
  std::optional<std::uint64_t> actions{};  // actions of clients
  std::optional<std::string> policy{};
  std::optional<std::uint32_t> users{};
  std::optional<std::map<std::string, double>> faults{};  // by name; the others are 0
  std::optional<std::vector<Crash>> crashes{};
};

struct WorldPlan {
  std::uint64_t seed = 0;
  Machine machine;
  std::string policy;
  std::uint32_t users = 1;
  std::uint64_t actions = 0;
  Duration gap;               // between two actions, on average
  std::uint32_t crashes = 0;  // to be drawn as the daemon begins, where `limits` names none
  Duration grace;
  std::int64_t snapshot_records = 0;
  bool has_copies = false;  // jobs may train as copies, mostly under a policy that makes them
  bool has_orders = false;  // jobs may start after others, and come as arrays
  bool has_memory = false;  // GPUs and machine have the memory of promises.h; most jobs state it
  bool has_work_without_gpus = false;  // jobs may need no GPU, and the machine has kHostCpus
  bool has_group = false;         // all users but root are in one group, which may have a limit
  bool has_reservations = false;  // administrators reserve GPUs
  bool leaves_slowly = false;     // all jobs take long to leave their GPUs
  SimFaults faults;

  static WorldPlan draw(std::uint64_t seed, const WorldLimits& limits);
  ServeOptions serve_options() const;
};

// The rate of that name; null: there is none.
double* fault_named(SimFaults& faults, std::string_view name);
std::vector<std::string> fault_names();

// The faults that can strike a daemon: the faults with names, in their order, then the two kinds of Crash.
constexpr std::size_t kCoveredFaults = 12;
std::string_view covered_fault_name(std::size_t fault);
std::size_t covered_fault(double SimFaults::*rate);
std::size_t covered_fault(Outage outage);
// The calls at which it strikes: a bit for each IoCall.
std::uint32_t calls_of_fault(std::size_t fault);

// "disk_full=0.01,stall=0.1", and back.
std::string faults_text(const std::map<std::string, double>& faults);
Result<std::map<std::string, double>> parse_faults(std::string_view text);
std::map<std::string, double> faults_of(SimFaults faults);  // that are not 0
// "1200,1533p": p for a loss of power; "none".
std::string crashes_text(const std::vector<Crash>& crashes);
Result<std::vector<Crash>> parse_crashes(std::string_view text);

}  // namespace fairlead
