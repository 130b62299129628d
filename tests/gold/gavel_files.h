// The files of the gold folder about Gavel's simulator and its fork in Shockwave.
#pragma once

#include "gavel_replay.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

// Steps/s of a model alone on a gang, by type, then model and gang. Combinations without a
// measurement are absent.
using GavelThroughputs =
    std::map<std::string, std::map<std::pair<std::string, std::uint32_t>, double>>;
// simulation_throughputs.json, without the pairs of jobs that share GPUs.
GavelThroughputs read_gavel_throughputs(const std::filesystem::path& path);
// tests/gold/gavel_shockwave_v100.csv.
GavelThroughputs read_shockwave_throughputs();

// The figures of a run in summary.json.
struct GavelSummary {
  std::string policy_name;                    // the simulator's own, "MaxMinFairness_Perf"
  std::map<std::string, std::uint32_t> gpus;  // by type
  std::uint32_t seed = 0;
  double interval_s = 0;
};
GavelSummary read_gavel_summary(const std::filesystem::path& path);

// The jobs of trace.tsv, with their throughputs on the types that have GPUs.
GavelWorld read_gavel_world(const std::filesystem::path& trace,
                            const std::map<std::string, std::uint32_t>& gpus,
                            const GavelThroughputs& throughputs);

// One line of allocations.jsonl: shares by job and type.
struct GavelAllocation {
  double at_s = 0;
  bool has_pairs = false;  // has jobs that share GPUs; they are left out
  std::map<std::uint32_t, std::map<std::string, double>> shares;
};
std::vector<GavelAllocation> read_gavel_allocations(const std::filesystem::path& path);

// Returns the recorded allocations one after another. A replay that differs from the recording gets
// the remaining ones, so that it comes to an end and its rounds show the first difference. `world`
// must outlive it. REQUIRES: at least one.
GavelAllocate recorded(const GavelWorld& world, std::vector<GavelAllocation> allocations);

// The lines of rounds.jsonl.
std::vector<GavelRound> read_gavel_rounds(const std::filesystem::path& path,
                                          const GavelWorld& world);
// For Shockwave's files, which have one type, column 0, and no times: start_s is 0.
std::vector<GavelRound> read_shockwave_rounds(const std::filesystem::path& path);

// Returns the times of jobs.csv, by job; none for a job that was dropped.
struct GavelFinish {
  std::optional<double> finish_s{};  // Shockwave's files do not have it
  std::optional<double> jct_s{};
};
std::vector<GavelFinish> read_gavel_jobs(const std::filesystem::path& path);

}  // namespace fairlead
