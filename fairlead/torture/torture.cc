#include "fairlead/torture/torture.h"

#include "fairlead/torture/clients.h"
#include "fairlead/torture/invariants.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fairlead {
namespace {

// A world with more calls has come to no end.
constexpr std::uint64_t kCallsMax = 5'000'000;
// A daemon that cannot be opened for that often in a row never will.
constexpr int kOpeningsMax = 200;

// A daemon that crashes at a call may lose the records of several steps.
constexpr std::size_t kMemoriesMax = 32;
// The first job of which there is only a task, which no journal has.
constexpr std::size_t kStrays = 1'000'000;

// Streams of a world's seed, numbered behind the streams of its clients.
constexpr std::uint64_t kMachineStream = std::uint64_t{2} << 32;
constexpr std::uint64_t kCrashStream = std::uint64_t{3} << 32;
constexpr std::uint64_t kOutageStream = std::uint64_t{4} << 32;

std::uint64_t scaled(Rng& rng, std::uint64_t most) {
  std::uint64_t high = 1;
  while (high < most && rng.below(8) != 0) high *= 2;
  return rng.below(std::min(high, most));
}

class World {
 public:
  World(std::uint64_t seed, const WorldLimits& limits, const Trace& trace)
      : plan_(WorldPlan::draw(seed, limits)),
        listed_(limits.crashes.value_or(std::vector<Crash>())),
        options_(plan_.serve_options()),
        of_seed_(seed),
        crash_rng_(of_seed_.split(kCrashStream)),
        io_(of_seed_.split(kMachineStream).next(), plan_.faults),
        clients_(io_, plan_, promises_),
        invariants_(io_, promises_, options_.machine.cluster) {
    if (trace) io_.trace().set_sink(trace);
    io_.calls().set_watch([this](IoCall call, double SimFaults::*fault) { watch(call, fault); });
    io_.machine().set_gpus(options_.machine.cluster.gpus);
    if (plan_.has_memory)
      io_.machine().gpu_report().memory.assign(options_.machine.cluster.gpus, {kGpuMemoryMb, 0});
    for (std::uint32_t user = 0; plan_.has_group && user < plan_.users; ++user)
      io_.machine().add_to_group(kFirstUid + user, kGroup);
    io_.trace().add([&] {
      return fmt::format("seed {}: {}, {} nodes, {} users, {} actions, {}{}faults {}", seed,
                         plan_.policy, plan_.machine.cluster.nodes(), plan_.users, plan_.actions,
                         plan_.has_copies ? "copies, " : "", plan_.has_orders ? "orders, " : "",
                         faults_text(faults_of(plan_.faults)));
    });
  }

  WorldOutcome run() {
    while (outcome_.problem.empty() && live()) {
    }
    server_.reset();
    outcome_.calls = io_.calls().count();
    outcome_.at = io_.time();
    outcome_.jobs = promises_.acknowledged.size();
    outcome_.tasks = io_.processes().started();
    return std::move(outcome_);
  }

 private:
  void wrong(std::string what) {
    if (outcome_.problem.empty()) outcome_.problem = std::move(what);
  }

  void watch(IoCall call, double SimFaults::*fault) {
    if (fault != nullptr) return outcome_.coverage.note(state_, call, covered_fault(fault));
    call_ = call;
    state_ = server_                  ? Coverage::state_of(server_->tables())
             : outcome_.openings == 0 ? Coverage::State::kBeginning
                                      : Coverage::State::kGoingOn;
    outcome_.coverage.note(state_, call);
  }

  // Stores the policy's state behind the present records of the journal. The policy may decide again
  // without a record; then the first state counts, because a recovery stops there.
  void note_memory() {
    if (memories_.contains(server_->records())) return;
    if (std::string memory = server_->memory(); !memory.empty()) {
      memories_[server_->records()] = std::move(memory);
    }
    if (memories_.size() > kMemoriesMax) memories_.erase(memories_.begin());
  }

  // Compares the policy's state in a daemon that was just opened with its state in the daemon before, at
  // the same record.
  void compare_memory() {
    if (plan_.has_reservations) return;  // a recovery does not know their limits
    const std::uint64_t records = server_->records();
    memories_.erase(memories_.upper_bound(records), memories_.end());
    const auto known = memories_.find(records);
    const std::string memory = server_->memory();
    if (memory.empty() || known == memories_.end()) return;
    ++outcome_.compared;
    if (known->second != memory) {
      wrong("after opening: the policy remembers something else than before the crash");
    }
  }

  // One life of a daemon. False: the world is over.
  bool live() {
    arm();
    Result<std::unique_ptr<Server>> opened = Server::open(io_, options_);
    ++outcome_.openings;
    if (io_.calls().is_dead()) {
      opened = tl::unexpected(Error());
      return crash();
    }
    if (!opened) return cannot_open(opened.error());
    failed_ = 0;
    server_ = *std::move(opened);
    io_.trace().add([&] { return "the daemon " + server_->beginning(); });
    if (std::string what = invariants_.after_open(server_->tables()); !what.empty()) {
      wrong("after opening: " + what);
      return false;
    }
    compare_memory();
    note_memory();
    if (!outcome_.problem.empty()) return false;
    if (clients_.is_over()) io_.terminate();
    return step_on();
  }

  bool step_on() {
    while (true) {
      const Result<bool> goes_on = server_->step();
      note_memory();
      if (io_.calls().is_dead()) return crash();
      if (!goes_on) return fall_over(goes_on.error());
      if (std::string what = invariants_.after_step(server_->tables()); !what.empty()) wrong(what);
      if (!outcome_.problem.empty()) return false;
      if (!*goes_on) return leave();
    }
  }

  // Draws the next crash.
  void arm() {
    const std::uint64_t calls = io_.calls().count();
    armed_.reset();
    if (plan_.crashes > 0) {
      --plan_.crashes;
      const std::uint64_t most = crash_rng_.below(3) == 0 ? 64 : 8192;
      armed_ = Crash{.call = calls + scaled(crash_rng_, most),
                     .outage = crash_rng_.below(2) == 0 ? Outage::kPower : Outage::kDaemon};
      // Rare calls are as likely as frequent ones.
      if (crash_rng_.below(2) == 0) {
        io_.calls().crash_at(static_cast<IoCall>(crash_rng_.below(kIoCalls)),
                             scaled(crash_rng_, 32));
      }
    }
    std::erase_if(listed_, [&](const Crash& crash) { return crash.call < calls; });
    if (!armed_ && !listed_.empty()) armed_ = listed_.front();
    io_.calls().crash_after((armed_ ? armed_->call : std::max(kCallsMax, calls)) - calls);
  }

  bool crash() {
    server_.reset();
    if (!armed_) {
      wrong(fmt::format("it has come to no end after {} calls", io_.calls().count()));
      return false;
    }
    armed_->call = io_.calls().died_at();
    outcome_.coverage.note(state_, call_, covered_fault(armed_->outage));
    outcome_.crashes.push_back(*armed_);
    restart(armed_->outage, 3'600'000);
    return true;
  }

  bool cannot_open(const Error& error) {
    if (++failed_ > kOpeningsMax || !io_.faults().was_disk_full()) {
      wrong("it cannot be opened: " + error.message);
      return false;
    }
    restart(Outage::kDaemon, 120'000);
    return true;
  }

  // Only as the disk took no more.
  bool fall_over(const Error& error) {
    server_.reset();
    if (!io_.faults().was_disk_full()) {
      wrong("it ends: " + error.message);
      return false;
    }
    restart(Outage::kDaemon, 120'000);
    return true;
  }

  bool leave() {
    if (clients_.is_over()) {
      if (std::string what = invariants_.at_end(server_->tables()); !what.empty()) {
        wrong("at the end: " + what);
      }
      return false;
    }
    server_.reset();
    restart(Outage::kDaemon, 60'000);
    return true;
  }

  void restart(Outage outage, std::uint64_t most_ms) {
    Rng rng = of_seed_.split(kOutageStream + io_.calls().count());
    io_.restart(outage, {static_cast<std::int64_t>(scaled(rng, most_ms))});
    if (outage == Outage::kDaemon && rng.below(16) == 0 && !clients_.is_quiet()) {
      const JobId stray(kStrays + strays_++);
      io_.add_stray(stray, static_cast<std::uint32_t>(rng.below(options_.machine.cluster.gpus)));
    }
    if (rng.below(16) == 0) flip_a_bit(rng);
    if (!promises_.problem.empty()) wrong(promises_.problem);
  }

  // Once in a world, because the journal can only detect, not locate, two changes in one block.
  void flip_a_bit(Rng& rng) {
    const std::string* journal = io_.disk().find("journal.flj");
    // Before anything was synced there is nothing that could verify another magic.
    if (memories_.empty() || journal == nullptr || std::exchange(has_flipped_, true)) return;
    const std::uint64_t bit = rng.below(8 * journal->size());
    io_.trace().add([&] { return fmt::format("the disk flips bit {} of the journal", bit); });
    io_.disk().flip_bit("journal.flj", bit);
  }

  WorldPlan plan_;
  std::vector<Crash> listed_;
  const ServeOptions options_;
  const Rng of_seed_;
  Rng crash_rng_;
  SimIo io_;
  Promises promises_;
  Clients clients_;
  Invariants invariants_;
  std::unique_ptr<Server> server_;
  std::optional<Crash> armed_;
  IoCall call_ = IoCall::kNow;  // the last
  Coverage::State state_ = Coverage::State::kBeginning;
  std::map<std::uint64_t, std::string> memories_;  // by the number of records
  std::size_t strays_ = 0;
  bool has_flipped_ = false;
  int failed_ = 0;
  WorldOutcome outcome_;
};

// The smallest world so far that fails.
class Shrinking {
 public:
  Shrinking(std::uint64_t seed, Shrunk best, const RunWorld& run)
      : seed_(seed), best_(std::move(best)), run_(run) {}

  // Tries another world, and keeps it if it fails as well.
  bool keeps(WorldLimits smaller) {
    WorldOutcome outcome = run_(seed_, smaller);
    if (outcome.problem.empty()) return false;
    best_ = {std::move(smaller), std::move(outcome)};
    return true;
  }

  void shrink_actions() {
    std::uint64_t step = *best_.limits.actions / 2;
    while (step > 0) {
      WorldLimits smaller = best_.limits;
      smaller.actions = *smaller.actions - std::min(step, *smaller.actions - 1);
      if (*smaller.actions == *best_.limits.actions || !keeps(smaller)) step /= 2;
    }
  }

  void shrink_faults() {
    const auto faults = *best_.limits.faults;
    for (const auto& [name, rate] : faults) {
      WorldLimits smaller = best_.limits;
      smaller.faults->erase(name);
      keeps(std::move(smaller));
    }
  }

  void shrink_crashes() {
    if (!best_.limits.crashes) return;
    for (std::size_t i = best_.limits.crashes->size(); i-- > 0;) {
      std::vector<Crash> fewer = *best_.limits.crashes;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      WorldLimits smaller = best_.limits;
      smaller.crashes = std::move(fewer);
      keeps(std::move(smaller));
    }
  }

  void shrink_users() {
    WorldLimits smaller = best_.limits;
    smaller.users = 1;
    keeps(std::move(smaller));
  }

  Shrunk best() && { return std::move(best_); }

 private:
  std::uint64_t seed_;
  Shrunk best_;
  const RunWorld& run_;
};

}  // namespace

WorldOutcome torture(std::uint64_t seed, const WorldLimits& limits, const Trace& trace) {
  return World(seed, limits, trace).run();
}

Shrunk shrink(std::uint64_t seed, const WorldLimits& limits, const WorldOutcome& outcome,
              const RunWorld& run) {
  const WorldPlan plan = WorldPlan::draw(seed, limits);
  Shrinking shrinking(seed, {limits, outcome}, run);
  WorldLimits same = limits;
  same.actions = plan.actions;
  same.faults = faults_of(plan.faults);
  // A world that aborted has not reported its crashes.
  if (outcome.calls > 0) same.crashes = outcome.crashes;
  if (!shrinking.keeps(same)) return std::move(shrinking).best();
  for (int round = 0; round < 2; ++round) {
    shrinking.shrink_crashes();
    shrinking.shrink_faults();
    shrinking.shrink_actions();
    if (plan.users > 1) shrinking.shrink_users();
  }
  return std::move(shrinking).best();
}

std::string torture_command(std::uint64_t seed, const WorldLimits& limits) {
  std::string text = fmt::format("fairlead torture --seeds 1 --from {}", seed);
  if (limits.actions) text += fmt::format(" --events {}", *limits.actions);
  if (limits.policy) text += fmt::format(" --policy {}", *limits.policy);
  if (limits.users) text += fmt::format(" --users {}", *limits.users);
  if (limits.faults) text += " --faults " + faults_text(*limits.faults);
  if (limits.crashes) text += " --crashes " + crashes_text(*limits.crashes);
  return text;
}

}  // namespace fairlead
