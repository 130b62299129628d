// How fast a job runs on a gang: the speed table, locality factors and each job's reference.
//
// The rate of a gang = gang size x its slowest member's per-GPU rate x the locality factor of the
// widest tier it spans, divided by the same for the job's reference gang (the asked size, on the
// reference GPU type, at the best tier it can have here, without congestion). So a trace's duration
// is exact at speed 1.
//
// Rules of the table:
//  - A gang size between or beyond a model's rows takes the per-GPU rate of the next smaller row.
//  - Zero means infeasible. Tables need not be monotone.
//  - On a GPU type that the model has no row for, what UnknownSpeeds says. It is an error by default,
//    where it matters: a job whose reference type is of the only product that it may run on has
//    speed 1 there whatever the table says.
//  - A model without a profile runs at speed 1 on every type, whatever the tier.
//
// Where the network is not `profiled`, a model that says what it communicates takes the place of
// its locality factors: the rates of one node are as measured, and a tier has the factor by which
// its iterations are longer than on one node (model/communication.h). With contention, that is the
// speed of a gang that shares its links with no other.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/communication.h"
#include "fairlead/model/fabric.h"
#include "fairlead/model/jobs.h"
#include "fairlead/model/unknown_speed.h"
#include "fairlead/model/workload.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Per-GPU rate at one gang size, in any unit that is the same for all rows of one model.
struct RateRow {
  std::uint32_t gpus = 1;
  double consolidated = 0;         // all members on one node; 0: infeasible
  std::optional<double> spread{};  // measured across nodes; else consolidated x locality factor
};

// The key by which GPU types are compared: their names ignore case.
std::string type_key(std::string_view gpu_type);

struct TypeRates {
  std::string gpu_type;
  std::vector<RateRow> rows;  // by increasing gpus
  std::string estimated{};    // how it was estimated; empty: it was measured
  std::string source{};       // where it was measured; empty: where the table was
};

// Overheads of a hold, in seconds. See sim/costs.h for what is charged when.
struct ModelCosts {
  std::optional<double> start_s;
  std::optional<double> suspend_s;
  std::optional<double> resume_s;
  std::optional<double> checkpoint_s;
  std::optional<double> migrate_s;
};

struct ModelProfile {
  std::string name;
  std::vector<TypeRates> rates;
  std::array<double, kTiers> locality = {1, 1, 1, 1};  // by Tier, relative to the best
  std::optional<Communication> communication{};
  ModelCosts costs;
  double weight = 0;  // of random draws for traces that name no model; 0: never drawn
};

class SpeedTable {
 public:
  std::vector<ModelProfile> models;
  std::string source;  // what the report says was used

  // The profile of that name, or null.
  const ModelProfile* find(std::string_view model) const;
};

// The speeds of one workload on one cluster, which must outlive it.
//
// Every rule of the table is applied once, in make(); a query is a search among a few gang sizes, a
// multiplication and a division by the reference. No query allocates. A speed above 0 is at least
// one step of Rate and at most 1e6.
class Speed {
 public:
  // `reference_gpu`: the type that trace durations refer to where the trace does not say; empty:
  // the type of the cluster that is fastest by the table (the product of the rates of the models
  // that jobs use, each relative to the model's fastest type), lowest id on ties. A job that cannot
  // run on its reference type at all refers to the fastest type and tier at which it can run here;
  // one whose reference type is known neither to the cluster nor to the table, to `reference_gpu`,
  // and is counted in workload.rows.rows_repaired. Also fills jobs.types: the types on which the
  // gang asked for runs at every tier that it can have here. Errors: `reference_gpu` is known to
  // neither; a speed that matters is unknown, and `unknown` does not say what it is.
  static Result<Speed> make(const Cluster& cluster, const SpeedTable& table, Workload& workload,
                            std::string_view reference_gpu, const NetworkOptions& network = {},
                            const UnknownSpeeds& unknown = {});

  // Speed, relative to the job's reference, of `gpus` GPUs of one type at one tier; Rate 0 where
  // infeasible. O(log rows).
  Rate rate(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const;
  // The speed of a gang; 0 where infeasible. O(slices).
  Rate rate(JobId job, Gang gang) const;
  // What communication leaves of the gang's rate. Where iteration() is known, the fraction of it
  // that computes; else what the gang's tier leaves, 1 at the best tier that a gang of its size can
  // have here. At most 1: some measured tables are faster at a wider tier, which is no loss.
  Rate locality(JobId job, Gang gang) const;
  // The same of a gang of `gpus` GPUs of one type at that tier. O(log rows).
  double locality(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const;
  // An iteration of the gang, if it shares its links with no other; nullopt where the job's speed
  // does not come from what it communicates. O(slices).
  std::optional<Iteration> iteration(JobId job, Gang gang) const;
  // Whether gangs that cross the same links slow each other down.
  bool shares_links() const { return shares_links_; }
  // The links between nodes, after congestion.
  const Fabric& fabric() const { return *fabric_; }

  // Null where the job's model has no profile.
  const ModelProfile* profile(JobId job) const;
  // Jobs whose model is named but has no profile.
  std::int64_t models_unknown() const { return models_unknown_; }
  // The speeds that were assumed, by model and GPU type; jobs that name no profile are left out.
  const std::vector<AssumedSpeed>& assumed() const { return assumed_; }
  // What durations refer to where the trace does not say; none if the cluster has no such GPU.
  GpuTypeId reference_type() const { return reference_type_; }
  // As Cluster::best_tier, in O(1).
  Tier best_tier(std::uint32_t gpus) const;

 private:
  friend class SpeedBuilder;
  using TierRates = std::array<double, kTiers>;  // per GPU, by Tier; 0: infeasible

  // A profile after all table rules: rates[type * sizes.size() + i] holds for gangs of sizes[i]
  // GPUs up to the next size. Types are those of the cluster, then those that only the table knows.
  struct Resolved {
    ModelProfile profile;
    std::vector<std::uint32_t> sizes;
    std::vector<TierRates> rates;
    std::vector<double> compute_ms;  // of one iteration, by type; empty: the locality is measured
    // By type: what its rates are where they were not measured, and whether there is no row at all.
    std::vector<std::string> assumed;
    std::vector<bool> unknown;

    const TierRates& at(std::size_t type, std::uint32_t gpus) const;
  };
  static constexpr std::uint32_t kNoProfile = 0xffffffff;
  struct Reference {
    std::uint32_t model = kNoProfile;  // row of models_
    std::uint32_t gpus = 1;            // asked
    double rate = 1;                   // of the whole reference gang
  };

  using TypeLinks = IdVector<GpuTypeId, Links>;  // what the type's first node has
  static TypeLinks type_links(const Cluster& cluster, const Fabric& fabric);
  double rate_per_gpu(const Resolved& model, std::size_t type, std::uint32_t gpus, Tier tier,
                      const TypeLinks& links) const;
  double slowest_member(const Resolved& model, Gang gang, std::uint32_t gpus) const;

  const Cluster* cluster_ = nullptr;
  std::optional<Fabric> fabric_;  // congestion included
  TypeLinks links_;               // the same
  bool shares_links_ = false;
  Exchange exchange_ = Exchange::kRing;
  std::vector<Resolved> models_;
  IdVector<JobId, Reference> references_;
  std::array<std::uint32_t, kTiers - 1> tier_gpus_max_ = {};  // the largest gang each tier can hold
  std::int64_t models_unknown_ = 0;
  std::vector<AssumedSpeed> assumed_;
  GpuTypeId reference_type_;
};

}  // namespace fairlead
