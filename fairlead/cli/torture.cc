#include "fairlead/torture/torture.h"

#include "fairlead/cli/commands.h"
#include "fairlead/cli/run_flags.h"
#include "fairlead/torture/apart.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <unistd.h>

namespace fairlead {
namespace {

struct Flags {
  std::uint64_t seeds = 100;
  std::uint64_t from = 1;
  std::uint64_t events = 0;  // 0: drawn
  std::uint32_t users = 0;   // 0: drawn
  std::string policy;
  std::string faults;
  std::string crashes;
  bool first = false;
  bool coverage = false;
  bool verbose = false;
};

// More failing worlds than that are counted, not shrunk.
constexpr std::uint64_t kShrunkMax = 3;

struct Sum {
  std::uint64_t worlds = 0;
  std::uint64_t failed = 0;
  std::uint64_t calls = 0;
  std::uint64_t crashes = 0;
  std::uint64_t jobs = 0;
  std::uint64_t tasks = 0;
  std::uint64_t compared = 0;
  Coverage coverage;

  void add(const WorldOutcome& outcome) {
    ++worlds;
    calls += outcome.calls;
    crashes += outcome.crashes.size();
    jobs += outcome.jobs;
    tasks += outcome.tasks;
    compared += outcome.compared;
    coverage.add(outcome.coverage);
  }
};

volatile std::sig_atomic_t is_interrupted = 0;

// Ends after the world that is under way. The second signal ends at once.
void note_interrupt(int signal) {
  is_interrupted = 1;
  std::signal(signal, SIG_DFL);
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class WorldsProgress {
 public:
  ~WorldsProgress() { remove(); }
  void show(const Sum& sum, std::uint64_t worlds) {
    if (!enabled_ || Clock::now() < next_) return;
    next_ = Clock::now() + std::chrono::milliseconds(200);
    drawn_ = true;
    const double elapsed_s = seconds_since(begin_);
    const double left_s =
        elapsed_s * static_cast<double>(worlds - sum.worlds) / static_cast<double>(sum.worlds);
    fmt::print(stderr,
               "\r{} of {} worlds, {} crashes, {} failed, {} of {} met, {:.0f} s left\x1b[K",
               sum.worlds, worlds, sum.crashes, sum.failed, sum.coverage.met(),
               sum.coverage.possible(), left_s);
    std::fflush(stderr);
  }
  void remove() {
    if (std::exchange(drawn_, false)) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  bool enabled_ = isatty(STDERR_FILENO) == 1;
  bool drawn_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_ = begin_ + std::chrono::seconds(1);
};

Result<WorldLimits> limits_of(const Flags& flags) {
  WorldLimits limits;
  if (flags.events > 0) limits.actions = flags.events;
  if (flags.users > 0) limits.users = flags.users;
  if (!flags.policy.empty()) limits.policy = flags.policy;
  if (!flags.faults.empty()) {
    FL_TRY_ASSIGN(faults, parse_faults(flags.faults));
    limits.faults = std::move(faults);
  }
  if (!flags.crashes.empty()) {
    FL_TRY_ASSIGN(crashes, parse_crashes(flags.crashes));
    limits.crashes = std::move(crashes);
  }
  return limits;
}

void tell(std::uint64_t seed, const WorldLimits& limits, const WorldOutcome& outcome,
          bool is_shrunk) {
  fmt::print("seed {}: after {} calls, at {} ms: {}\n", seed, outcome.calls, outcome.at.ms,
             outcome.problem);
  if (is_shrunk) {
    const Shrunk shrunk = shrink(seed, limits, outcome, torture_apart);
    fmt::print("  {}\n  {}\n", shrunk.outcome.problem, torture_command(seed, shrunk.limits));
  }
  std::fflush(stdout);
}

void print_sum(const Sum& sum, const Flags& flags, double elapsed_s) {
  if (is_interrupted != 0) {
    fmt::print("interrupted after {} of {} worlds; continue with --from {}\n", sum.worlds,
               flags.seeds, flags.from + sum.worlds);
  }
  fmt::print(
      "{} worlds, {} of them failed; {} jobs, {} tasks, {} crashes; {} events, {:.0f} per "
      "second, {:.1f} s\n",
      sum.worlds, sum.failed, sum.jobs, sum.tasks, sum.crashes, sum.calls,
      static_cast<double>(sum.calls) / elapsed_s, elapsed_s);
  fmt::print(
      "coverage: {} of {} pairs of a call in a state and a fault; the policy's state was compared "
      "at {} openings\n",
      sum.coverage.met(), sum.coverage.possible(), sum.compared);
  if (!flags.coverage) return;
  for (const std::string& missed : sum.coverage.missed()) fmt::print("not met: {}\n", missed);
}

Status torture_worlds(const Flags& flags) {
  FL_TRY_ASSIGN(limits, limits_of(flags));
  std::signal(SIGINT, note_interrupt);
  std::signal(SIGTERM, note_interrupt);
  const auto begin = Clock::now();
  WorldsProgress progress;
  Sum sum;
  for (std::uint64_t seed = flags.from; seed < flags.from + flags.seeds; ++seed) {
    if (is_interrupted != 0) break;
    const WorldOutcome outcome =
        flags.verbose
            ? torture(seed, limits, [](const std::string& line) { fmt::print("{}\n", line); })
            : torture_apart(seed, limits);
    sum.add(outcome);
    if (!outcome.problem.empty()) {
      progress.remove();
      ++sum.failed;
      tell(seed, limits, outcome, !flags.verbose && !flags.first && sum.failed <= kShrunkMax);
      if (flags.first) break;
    }
    progress.show(sum, flags.seeds);
  }
  progress.remove();
  print_sum(sum, flags, seconds_since(begin));
  if (sum.failed > 0) return run_error("{} worlds failed", sum.failed);
  if (is_interrupted != 0) return run_error("interrupted after {} worlds", sum.worlds);
  return {};
}

}  // namespace

Command add_torture(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "torture",
      "Inject faults into the daemon of `serve` in simulated worlds, and check its invariants");
  const auto flags = std::make_shared<Flags>();
  add_whole_number(*app, "--seeds", flags->seeds, "number of worlds")->capture_default_str();
  add_whole_number(*app, "--from", flags->from, "seed of the first world")->capture_default_str();
  app->add_option("--events", flags->events,
                  "number of actions of clients in a world (default: drawn)");
  app->add_option("--users", flags->users, "number of users (default: drawn)");
  app->add_option("--policy", flags->policy, "policy with its options (default: drawn)")
      ->type_name("NAME[:OPT=V,...]");
  app->add_option("--faults", flags->faults, "faults with their rates, or none (default: drawn)")
      ->type_name("NAME=RATE,...");
  app->add_option(
         "--crashes", flags->crashes,
         "calls at which the daemon crashes, p: by a loss of power, or none (default: drawn)")
      ->type_name("CALL[p],...");
  app->add_flag("--first", flags->first,
                "end with the first world that fails, without shrinking it");
  app->add_flag("--coverage", flags->coverage, "list the faults that no world met");
  app->add_flag("--verbose", flags->verbose, "print each call and its effect");
  app->footer("Example:\n  fairlead torture --seeds 10000 --from 1\n");
  return {app, [flags] { return torture_worlds(*flags); }};
}

}  // namespace fairlead
