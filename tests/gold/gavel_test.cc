// Conformance with the simulators of Gavel and Shockwave. With their recorded allocations, our
// rule of rounds must run the same jobs on the same workers in every round. Every job must finish
// at the same time. Policies with a formula for the allocation are computed here instead.
//
// The optima of linear programs are not unique, so allocations are replayed, not computed; another
// test shows that ours are as good.
//
// The test finds cases and policies by itself, and prints the comparisons, and the omissions with
// their reasons. A case without any comparison fails. Without the gold folder everything is
// skipped.
#include "fairlead/base/check.h"

#include "gavel_files.h"
#include "gavel_replay.h"
#include "gold_csv.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iostream>
#include <numeric>
#include <set>
#include <utility>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sorted_folders(const fs::path& folder) {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

// Every job is due N / (jobs x gang) of each type, but not more than all of its time.
GavelAllocate isolated(const GavelWorld& world) {
  return [&world](const GavelReset& reset) {
    std::vector<double> shares;
    for (const auto& [job, remaining_steps] : reset.active) {
      std::vector<double> row;
      for (const std::uint32_t gpus : world.gpus) {
        row.push_back(static_cast<double>(gpus) /
                      static_cast<double>(reset.active.size() * world.jobs[job].gang));
      }
      const double sum = std::accumulate(row.begin(), row.end(), 0.0);
      for (const double share : row) shares.push_back(share / std::max(1.0, sum));
    }
    return shares;
  };
}

// In order of arrival, each job on the fastest type with room for its gang; the first job without
// room ends it.
GavelAllocate fifo_perf(const GavelWorld& world) {
  return [&world](const GavelReset& reset) {
    const std::size_t types = world.types.size();
    std::vector<double> shares(reset.active.size() * types);
    std::vector<std::uint32_t> free = world.gpus;
    for (std::size_t row = 0; row < reset.active.size(); ++row) {
      const GavelJob& job = world.jobs[reset.active[row].job];
      std::optional<std::size_t> best;
      for (std::size_t type = 0; type < types; ++type) {
        if (free[type] < job.gang) continue;
        if (!best || job.throughputs[type] > job.throughputs[*best]) best = type;
      }
      if (!best) break;
      if (job.throughputs[*best] <= 0) continue;
      free[*best] -= job.gang;
      shares[row * types + *best] = 1;
    }
    return shares;
  };
}

// The simulator's FIFO of one type, which lets a job run to its end. It walks the jobs with GPUs in
// order. Each job that is done gives way to the head of the queue if that fits beside the jobs
// walked so far: not beside the others, so more GPUs may be handed out than there are. The rest
// then goes to the queue until its head does not fit. REQUIRES: one type.
class Fifo {
 public:
  explicit Fifo(const GavelWorld& world) : world_(world) {
    FL_CHECK(world.types.size() == 1, "{} types", world.types.size());
  }

  std::vector<double> operator()(const GavelReset& reset) {
    std::set<std::uint32_t> active;
    std::deque<std::uint32_t> queue;
    for (const auto& [job, remaining_steps] : reset.active) {
      active.insert(job);
      if (!running_.contains(job)) queue.push_back(job);
    }
    std::int64_t free = world_.gpus[0];
    const std::set<std::uint32_t> before = std::exchange(running_, {});
    const auto take_head = [&] {
      if (queue.empty() || world_.jobs[queue.front()].gang > free) return false;
      free -= world_.jobs[queue.front()].gang;
      running_.insert(queue.front());
      queue.pop_front();
      return true;
    };
    for (const std::uint32_t job : before) {
      if (active.contains(job)) {
        free -= world_.jobs[job].gang;
        running_.insert(job);
      } else {
        take_head();
      }
    }
    while (take_head()) {
    }
    std::vector<double> shares;
    for (const auto& [job, remaining_steps] : reset.active) {
      shares.push_back(running_.contains(job) ? 1 : 0);
    }
    return shares;
  }

 private:
  const GavelWorld& world_;
  std::set<std::uint32_t> running_;
};

// The policy that Shockwave calls gandiva_fair: an equal part of the time for every job, whatever
// its gang. It has only fairness in common with the paper of that name.
GavelAllocate equal_time(const GavelWorld& world) {
  return [&world](const GavelReset& reset) {
    const double share =
        static_cast<double>(world.gpus.at(0)) / static_cast<double>(reset.active.size());
    return std::vector<double>(reset.active.size(), std::min(1.0, share));
  };
}

bool is_close(double have, double want) {
  return std::abs(have - want) <= 1e-6 * std::max(1.0, std::abs(want));
}

bool is_close(std::optional<double> have, std::optional<double> want) {
  return have.has_value() == want.has_value() && (!have || is_close(*have, *want));
}

std::string text(std::optional<double> seconds) {
  return seconds ? fmt::to_string(*seconds) : "never";
}

std::string text(const GavelRound& round) {
  std::string all;
  for (const GavelRun& run : round.runs) {
    all += fmt::format(" {}:{}@{}", run.job, run.type, fmt::join(run.workers, "+"));
  }
  return all;
}

// `timed`: whether the rounds' starts were recorded.
bool expect_equal(const std::vector<GavelRound>& have, const std::vector<GavelRound>& want,
                  bool timed) {
  for (std::size_t i = 0; i < std::min(have.size(), want.size()); ++i) {
    const bool same_start = !timed || is_close(have[i].start_s, want[i].start_s);
    if (same_start && have[i].runs == want[i].runs) continue;
    // One difference makes more.
    ADD_FAILURE() << "round " << i << " at " << have[i].start_s << text(have[i]) << "\nwant at "
                  << want[i].start_s << text(want[i]);
    return false;
  }
  EXPECT_EQ(have.size(), want.size()) << "rounds";
  return have.size() == want.size();
}

bool expect_equal(const GavelWorld& world, const std::vector<std::optional<double>>& have,
                  const std::vector<GavelFinish>& want) {
  EXPECT_EQ(have.size(), want.size()) << "jobs";
  if (have.size() != want.size()) return false;
  int differences = 0;
  for (std::size_t job = 0; job < have.size(); ++job) {
    std::optional<double> jct_s;
    if (have[job]) jct_s = *have[job] - world.jobs[job].arrival_s;
    const bool same_finish = !want[job].finish_s || is_close(have[job], want[job].finish_s);
    if ((same_finish && is_close(jct_s, want[job].jct_s)) || ++differences > 5) continue;
    ADD_FAILURE() << "job " << job << " took " << text(jct_s) << " want " << text(want[job].jct_s);
  }
  return differences == 0;
}

void say_equal(const std::string& label, const GavelOutcome& outcome) {
  std::cout << label << ": " << outcome.finish_s.size() << " jobs and " << outcome.rounds.size()
            << " rounds equal\n";
}

// The file as it is or compressed.
fs::path lines_file(const fs::path& folder, const std::string& name) {
  const fs::path plain = folder / (name + ".jsonl");
  return fs::exists(plain) ? plain : folder / (name + ".jsonl.gz");
}

// Runs one policy of one case. `folder` has the results.
struct Recording {
  std::string label;
  fs::path trace;
  fs::path folder;
};

GavelRules rules_of(const GavelSummary& summary) {
  GavelRules rules{.round_s = summary.interval_s,
                   .fill_idle = !summary.policy_name.starts_with("FIFO")};
  const bool knows_speeds = summary.policy_name.find("Perf") != std::string::npos ||
                            summary.policy_name.find("Packing") != std::string::npos;
  if (!knows_speeds) rules.shuffle_seed = summary.seed + 5;
  return rules;
}

void compare_with(const Recording& recording, const std::string& how, const GavelWorld& world,
                  const GavelRules& rules, const GavelAllocate& allocate) {
  const std::string label = recording.label + ", " + how;
  SCOPED_TRACE(label);
  const GavelOutcome outcome = replay(world, rules, allocate);
  const bool same_rounds = expect_equal(
      outcome.rounds, read_gavel_rounds(lines_file(recording.folder, "rounds"), world), true);
  const bool same_jobs =
      expect_equal(world, outcome.finish_s, read_gavel_jobs(recording.folder / "jobs.csv"));
  if (same_rounds && same_jobs) say_equal(label, outcome);
}

// Returns whether anything was compared.
bool compare(const Recording& recording, const GavelThroughputs& throughputs) {
  const GavelSummary summary = read_gavel_summary(recording.folder / "summary.json");
  const GavelWorld world = read_gavel_world(recording.trace, summary.gpus, throughputs);
  const GavelRules rules = rules_of(summary);
  const auto allocations = read_gavel_allocations(lines_file(recording.folder, "allocations"));
  if (std::ranges::any_of(allocations, &GavelAllocation::has_pairs)) {
    std::cout << recording.label << ": skipped, packing: pairs of jobs share GPUs\n";
    return false;
  }
  compare_with(recording, "replayed", world, rules, recorded(world, allocations));
  if (summary.policy_name == "FIFO_Perf") {
    compare_with(recording, "computed", world, rules, fifo_perf(world));
  }
  if (summary.policy_name == "FIFO" && world.types.size() == 1) {
    compare_with(recording, "computed", world, rules, Fifo(world));
  }
  if (summary.policy_name == "Isolated") {
    compare_with(recording, "computed", world, rules, isolated(world));
  }
  return true;
}

fs::path gavel_folder() { return gold_folder() / "gavel"; }

fs::path throughputs_file() { return gavel_folder() / "common" / "simulation_throughputs.json.gz"; }

TEST(GavelGold, EveryJobAndRoundIsEqual) {
  if (!fs::exists(throughputs_file())) {
    GTEST_SKIP() << "no throughputs at " << throughputs_file().string();
  }
  const GavelThroughputs throughputs = read_gavel_throughputs(throughputs_file());
  for (const fs::path& folder : sorted_folders(gavel_folder())) {
    const fs::path trace = folder / "trace.tsv";
    if (!fs::exists(trace)) continue;
    const std::string label = "gold gavel/" + folder.filename().string();
    int compared = 0;
    if (fs::exists(folder / "summary.json")) {
      compared += compare({label, trace, folder}, throughputs) ? 1 : 0;
    }
    for (const fs::path& policy : sorted_folders(folder)) {
      if (!fs::exists(policy / "summary.json")) continue;
      const Recording recording = {label + "/" + policy.filename().string(), trace, policy};
      compared += compare(recording, throughputs) ? 1 : 0;
    }
    EXPECT_GT(compared, 0) << "nothing was compared in " << label;
  }
}

// Published by Gavel's authors in pull request 208 of their repository, to three decimals.
TEST(GavelGold, TheTimesThatTheAuthorsPublishedComeOut) {
  const fs::path folder = gavel_folder() / "pr208_artifact_evaluation";
  if (!fs::exists(folder)) GTEST_SKIP() << "no results at " << folder.string();
  const GavelSummary summary = read_gavel_summary(folder / "summary.json");
  const GavelWorld world = read_gavel_world(folder / "trace.tsv", summary.gpus,
                                            read_gavel_throughputs(throughputs_file()));
  const GavelOutcome outcome =
      replay(world, rules_of(summary),
             recorded(world, read_gavel_allocations(lines_file(folder, "allocations"))));
  const std::vector<GavelFinish> published = read_gavel_jobs(folder / "published_by_authors.csv");
  ASSERT_EQ(published.size(), 15U);
  ASSERT_EQ(world.jobs.size(), published.size());
  for (std::size_t job = 0; job < published.size(); ++job) {
    ASSERT_TRUE(outcome.finish_s[job].has_value());
    const double jct_s = *outcome.finish_s[job] - world.jobs[job].arrival_s;
    EXPECT_EQ(fmt::format("{:.3f}", jct_s), fmt::format("{:.3f}", *published[job].jct_s))
        << "job " << job;
  }
}

constexpr std::uint32_t kShockwaveGpus = 32;

// Returns our computation of a policy of Shockwave, or none.
GavelAllocate shockwave_allocation(const std::string& policy, const GavelWorld& world) {
  if (policy == "fifo") return Fifo(world);
  if (policy == "isolated") return isolated(world);
  if (policy == "gandiva_fair") return equal_time(world);
  return nullptr;
}

// Returns how many policies were compared.
int compare_shockwave(const fs::path& folder) {
  const GavelWorld world = read_gavel_world(folder / "trace.tsv", {{"v100", kShockwaveGpus}},
                                            read_shockwave_throughputs());
  int compared = 0;
  for (const fs::path& policy : sorted_folders(folder)) {
    const std::string name = policy.filename().string();
    const std::string label = "gold shockwave/" + folder.filename().string() + "/" + name;
    SCOPED_TRACE(label);
    const GavelAllocate allocate = shockwave_allocation(name, world);
    if (allocate == nullptr) {
      std::cout << label << ": skipped, no allocations were recorded and its optima are many\n";
      continue;
    }
    const GavelRules rules{
        .round_s = 120, .reset_min_s = 1000, .fill_idle = name != "fifo", .charge_starts = true};
    const GavelOutcome outcome = replay(world, rules, allocate);
    const bool same_rounds =
        expect_equal(outcome.rounds, read_shockwave_rounds(lines_file(policy, "rounds")), false);
    const bool same_jobs =
        expect_equal(world, outcome.finish_s, read_gavel_jobs(policy / "jobs.csv"));
    if (same_rounds && same_jobs) say_equal(label, outcome);
    ++compared;
  }
  return compared;
}

TEST(GavelGold, EveryStaticJobOfShockwaveIsEqual) {
  const fs::path peer = gold_folder() / "shockwave";
  if (!fs::exists(peer)) GTEST_SKIP() << "no results of this peer at " << peer.string();
  for (const fs::path& folder : sorted_folders(peer)) {
    const std::string name = folder.filename().string();
    if (name != "tacc_32gpus_static") {
      std::cout << "gold shockwave/" << name << ": skipped, batch sizes change during the run\n";
      continue;
    }
    EXPECT_GT(compare_shockwave(folder), 0) << "nothing was compared in " << name;
  }
}

}  // namespace
}  // namespace fairlead
