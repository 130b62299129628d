#include "fairlead/torture/world_plan.h"

#include "fairlead/base/check.h"
#include "fairlead/base/parse.h"
#include "fairlead/base/rng.h"
#include "fairlead/serve/server.h"
#include "fairlead/torture/promises.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead {
namespace {

// Streams of a world's seed.
enum Stream : std::uint64_t {
  kMachine,
  kPolicy,
  kClients,
  kFaults,
  kCrashes,
  kNodes,
  kJobs,
  kOrders,
  kGroups,
  kMemory,
  kReservations,
  kWithoutGpus
};

constexpr std::uint32_t bits(std::initializer_list<IoCall> calls) {
  std::uint32_t bits = 0;
  for (IoCall call : calls) bits |= std::uint32_t{1} << static_cast<unsigned>(call);
  return bits;
}

struct FaultName {
  std::string_view name;
  double SimFaults::*rate;
  double most;          // drawn
  std::uint32_t calls;  // at which it strikes
};
constexpr std::array<FaultName, 10> kFaultNames = {{
    {"disk_full", &SimFaults::disk_full, 0.01,
     bits({IoCall::kWrite, IoCall::kOpen, IoCall::kAppend, IoCall::kSync})},
    {"slow_sync", &SimFaults::slow_sync, 0.05, bits({IoCall::kSync})},
    {"start_fails", &SimFaults::start_fails, 0.2, bits({IoCall::kStart})},
    {"freeze_fails", &SimFaults::freeze_fails, 0.1, bits({IoCall::kFreeze, IoCall::kThaw})},
    {"end_early", &SimFaults::end_early, 0.3, bits({IoCall::kFreeze})},
    {"late_notice", &SimFaults::late_notice, 0.5, bits({IoCall::kWait})},
    {"told_twice", &SimFaults::told_twice, 0.5, bits({IoCall::kWait})},
    {"stall", &SimFaults::stall, 0.01, bits({IoCall::kWait})},
    {"calendar", &SimFaults::calendar, 0.02, bits({IoCall::kWait})},
    {"foreign", &SimFaults::foreign, 0.3, bits({IoCall::kLook})},
}};
static_assert(kCoveredFaults == kFaultNames.size() + 2);

// Half of the worlds have the policy that the daemon has by default.
constexpr std::array<std::string_view, 16> kPolicies = {
    kLocalPolicy,
    "fairlead:resident=true,round_s=5,window_s=30,switch_s=1,patience_s=2,job_patience_s=20",
    "fairlead:resident=true,round_s=10,window_s=60,switch_s=2",
    "fairlead:resident=true,round_s=20,window_s=inf",
    "fairlead:round_s=30,window_s=120,notes=true",
    "gandiva-fair:resident=true,quantum_s=10",
    "gandiva-fair:quantum_s=10,gain=0.01,trade_quanta=2",
    "gandiva-fair:quantum_s=30,gain=0.02,trade_quanta=1",
    "stride:quantum_s=10",
    "fifo:skip=true",
    "tiresias:limits=20/100",
    "las:quantum_s=10",
    "srtf",
    "hadar:round_s=30",
    "gavel:round_s=30,reallocation_s=60",
    "dally:round_s=30,node_s=10,rack_s=20",
};
// Policies that make copies of jobs.
constexpr std::array<std::string_view, 4> kCopiesPolicies = {
    "hadare:round_s=30",
    "hadare:switch_s=0,round_s=60",
    kLocalPolicy,
    "fairlead:resident=true,copies=0,round_s=10,window_s=60",
};
constexpr std::array<std::string_view, 3> kTypes = {"V100", "A100", "H100"};

std::int64_t between(Rng& rng, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most - least + 1)));
}

// Small ones as often as large ones.
std::int64_t scaled(Rng& rng, std::int64_t least, std::int64_t most) {
  std::int64_t high = least;
  while (high < most && rng.below(3) != 0) high *= 2;
  return between(rng, least, std::min(high, most));
}

SimFaults draw_faults(Rng rng) {
  SimFaults faults;
  for (const FaultName& fault : kFaultNames) {
    // Drawn for all, so that each has the same rate whatever the others have.
    const double rate = rng.uniform() * fault.most;
    if (rng.below(3) == 0) faults.*fault.rate = rate;
  }
  return faults;
}

// The nodes of one machine: its GPUs of one type, in half of the worlds a few of them each.
Machine draw_machine(Rng& rng, Rng sizes) {
  std::string text;
  const std::uint32_t node_gpus =
      sizes.below(2) == 0 ? kNodeGpusMax : static_cast<std::uint32_t>(between(sizes, 1, 4));
  const auto nodes = static_cast<std::size_t>(between(rng, 1, 3));
  for (std::size_t i = 0; i < nodes; ++i) {
    text += fmt::format("{}{}x{}@{}", i == 0 ? "" : ",", between(rng, 1, 8), kTypes[i], i + 1);
  }
  Result<Machine> machine = stand_in_machine(text, node_gpus);
  FL_CHECK(machine.has_value(), "no machine: {}", text);
  return *std::move(machine);
}

}  // namespace

WorldPlan WorldPlan::draw(std::uint64_t seed, const WorldLimits& limits) {
  const Rng of_seed(seed);
  WorldPlan plan{.seed = seed};
  Rng machine = of_seed.split(kMachine);
  plan.machine = draw_machine(machine, of_seed.split(kNodes));
  plan.grace = {scaled(machine, 500, 60'000)};
  plan.snapshot_records = scaled(machine, 20, 5000);
  Rng policy = of_seed.split(kPolicy);
  plan.policy = kPolicies[policy.below(kPolicies.size())];
  Rng jobs = of_seed.split(kJobs);
  plan.has_copies = jobs.below(2) == 0;
  if (plan.has_copies && jobs.below(4) != 0) {
    plan.policy = kCopiesPolicies[jobs.below(kCopiesPolicies.size())];
  }
  plan.leaves_slowly = jobs.below(4) == 0;
  plan.has_orders = of_seed.split(kOrders).below(2) == 0;
  plan.has_memory = of_seed.split(kMemory).below(4) == 0;
  plan.has_reservations = of_seed.split(kReservations).below(4) == 0;
  plan.has_work_without_gpus = of_seed.split(kWithoutGpus).below(4) == 0;
  plan.has_group = plan.has_orders && of_seed.split(kGroups).below(4) == 0;
  if (limits.policy) plan.policy = *limits.policy;
  Rng clients = of_seed.split(kClients);
  plan.users = limits.users.value_or(static_cast<std::uint32_t>(between(clients, 1, 4)));
  plan.actions = limits.actions.value_or(static_cast<std::uint64_t>(scaled(clients, 40, 200)));
  plan.gap = {scaled(clients, 50, 20'000)};
  plan.faults = draw_faults(of_seed.split(kFaults));
  if (limits.faults) {
    plan.faults = {};
    for (const auto& [name, rate] : *limits.faults) *fault_named(plan.faults, name) = rate;
  }
  Rng crashes = of_seed.split(kCrashes);
  plan.crashes = crashes.below(3) == 0 ? 0 : static_cast<std::uint32_t>(1 + crashes.below(6));
  if (limits.crashes) plan.crashes = 0;
  return plan;
}

ServeOptions WorldPlan::serve_options() const {
  Machine sized = machine;
  if (has_memory) sized.host = {.cpus = 64, .memory_mb = kHostMemoryMb};
  if (has_work_without_gpus) sized.host.cpus = kHostCpus;
  return {.machine = std::move(sized),
          .policy = policy,
          .seed = seed,
          .grace = grace,
          .snapshot_records = snapshot_records};
}

double* fault_named(SimFaults& faults, std::string_view name) {
  const auto* found = std::ranges::find(kFaultNames, name, &FaultName::name);
  return found == kFaultNames.end() ? nullptr : &(faults.*found->rate);
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  names.reserve(kFaultNames.size());
  for (const FaultName& fault : kFaultNames) names.emplace_back(fault.name);
  return names;
}

std::string_view covered_fault_name(std::size_t fault) {
  if (fault < kFaultNames.size()) return kFaultNames[fault].name;
  return fault == covered_fault(Outage::kPower) ? "power" : "crash";
}

std::size_t covered_fault(double SimFaults::*rate) {
  return static_cast<std::size_t>(std::ranges::find(kFaultNames, rate, &FaultName::rate) -
                                  kFaultNames.begin());
}

std::size_t covered_fault(Outage outage) {
  return kFaultNames.size() + (outage == Outage::kPower ? 1 : 0);
}

std::uint32_t calls_of_fault(std::size_t fault) {
  return fault < kFaultNames.size() ? kFaultNames[fault].calls : ~std::uint32_t{0};
}

std::map<std::string, double> faults_of(SimFaults faults) {
  std::map<std::string, double> rates;
  for (const FaultName& fault : kFaultNames) {
    if (faults.*fault.rate != 0) rates[std::string(fault.name)] = faults.*fault.rate;
  }
  return rates;
}

std::string faults_text(const std::map<std::string, double>& faults) {
  std::string text;
  for (const auto& [name, rate] : faults) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, rate);
  }
  return text.empty() ? "none" : text;
}

namespace {

std::vector<std::string_view> parts(std::string_view text) {
  std::vector<std::string_view> list;
  while (!text.empty() && text != "none") {
    const std::size_t end = std::min(text.find(','), text.size());
    list.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

}  // namespace

Result<std::map<std::string, double>> parse_faults(std::string_view text) {
  std::map<std::string, double> faults;
  SimFaults known;
  for (std::string_view part : parts(text)) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    const auto rate = parse_number(part.substr(std::min(equals + 1, part.size())));
    if (fault_named(known, name) == nullptr) {
      return input_error("--faults: no such fault (there are: {}): {}",
                         fmt::join(fault_names(), ", "), name);
    }
    if (!rate || !(*rate >= 0 && *rate <= 1)) {
      return input_error("--faults: a rate must be a number from 0 to 1: {}", part);
    }
    faults[std::string(name)] = *rate;
  }
  return faults;
}

std::string crashes_text(const std::vector<Crash>& crashes) {
  std::string text;
  for (const Crash& crash : crashes) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", crash.call,
                        crash.outage == Outage::kPower ? "p" : "");
  }
  return text.empty() ? "none" : text;
}

Result<std::vector<Crash>> parse_crashes(std::string_view text) {
  std::vector<Crash> crashes;
  for (std::string_view part : parts(text)) {
    Crash crash;
    if (part.ends_with('p')) {
      crash.outage = Outage::kPower;
      part.remove_suffix(1);
    }
    const auto call = parse_integer(part);
    if (!call || *call < 0) return input_error("--crashes: not the number of a call: {}", part);
    crash.call = static_cast<std::uint64_t>(*call);
    crashes.push_back(crash);
  }
  return crashes;
}

}  // namespace fairlead
