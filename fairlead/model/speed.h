// The speed of a job on a gang: the speed table, locality factors and each job's reference.
//
// The rate of a gang = gang size x the slowest member's per-GPU rate x the locality factor of the gang's widest tier.
// It is divided by the same product for the job's reference gang. The reference gang has the requested size, the
// reference GPU type, and the best tier it can have on the cluster, without congestion. So a trace's duration is exact
// at speed 1.
//
// Rules of the table:
//  - A gang size between or beyond a model's rows takes the per-GPU rate of the next smaller row.
//  - Zero means infeasible. Tables need not be monotone.
//  - UnknownSpeeds decides the speed on a GPU type without a row of the model. By default it is an error if a job needs
//    that speed. A job does not need it if its reference type is of the only product that it may run on: its speed
//    there is 1.
//  - A model without a profile runs at speed 1 on every type and at every tier.
//
// If the network is not `profiled`, communication figures replace the locality factors of a model that has them. The
// rates on one node stay as measured. A tier's factor is the ratio between the iteration times on one node and at that
// tier (model/communication.h). With contention, this is the speed of a gang that shares its links with no other gang.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/communication.h"
#include "fairlead/model/fabric.h"
#include "fairlead/model/jobs.h"
#include "fairlead/model/unknown_speed.h"
#include "fairlead/model/workload.h"

#include <array>
#include <compare>
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

// Returns the key by which GPU types are compared: the name without regard to case.
std::string type_key(std::string_view gpu_type);

struct TypeRates {
  std::string gpu_type;
  std::vector<RateRow> rows;  // by increasing gpus
  std::string estimated{};    // method of the estimate; empty: the rates were measured
  std::string source{};       // source of the measurement; empty: the table's source
};

// Overheads of a run of a job, in seconds. sim/costs.h has the rules for charging them.
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
  double weight = 0;  // for random draws if the trace names no models; 0: never drawn
  // In lower case: a model that no profile names, but whose name has one of these parts, takes this profile.
  std::vector<std::string> also{};
};

class SpeedTable {
 public:
  std::vector<ModelProfile> models;
  std::string source;  // name of the table for the report

  // Returns the profile with that name, or null.
  const ModelProfile* find(std::string_view model) const;
  // Returns the first profile for models with such a name (ModelProfile::also), or null. Its speeds are a guess.
  const ModelProfile* find_alike(std::string_view model) const;
};

// The speeds of one workload on one cluster. The cluster must outlive this object.
//
// All rules of the table are applied once, in make(). A query is a search among a few gang sizes, a multiplication and
// a division by the reference. No query allocates. A speed above 0 is at least one step of Rate and at most 1e6.
class Speed {
 public:
  // Applies the table to the workload's jobs. Also fills jobs.types: the types on which the requested gang runs at
  // every tier that it can have on the cluster.
  //
  // `reference_gpu`: the type of trace durations if the trace names none. If empty: the cluster's fastest type by the
  // table, lowest id on ties. The fastest type has the largest product of the rates of all used models, each relative
  // to the model's fastest type.
  //
  // A job that cannot run on its reference type refers to the fastest type and tier at which it can run here. If
  // neither the cluster nor the table knows a job's reference type, the job refers to `reference_gpu` and is counted in
  // workload.rows.rows_repaired.
  //
  // Errors: neither the cluster nor the table has `reference_gpu`; a speed that a job needs is unknown, and `unknown`
  // has no rule for it.
  static Result<Speed> make(const Cluster& cluster, const SpeedTable& table, Workload& workload,
                            std::string_view reference_gpu, const NetworkOptions& network = {},
                            const UnknownSpeeds& unknown = {});

  // Returns the speed, relative to the job's reference, of `gpus` GPUs of one type at one tier; 0 if infeasible.
  // O(log rows).
  Rate rate(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const;
  // Returns the speed of a gang; 0 if infeasible. O(slices).
  Rate rate(JobId job, Gang gang) const;
  // Returns the factor by which communication reduces the gang's rate, at most 1. If iteration() is known: the
  // fraction of an iteration that computes. Otherwise: the factor of the gang's tier, relative to the best tier that a
  // gang of its size can have here. Some measured tables are faster at a wider tier; that counts as 1.
  Rate locality(JobId job, Gang gang) const;
  // Returns the same for a gang of `gpus` GPUs of one type at one tier. O(log rows).
  double locality(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const;
  // Returns an iteration of the gang when it shares its links with no other gang; nullopt if the job's speed is not
  // computed from communication figures. O(slices).
  std::optional<Iteration> iteration(JobId job, Gang gang) const;
  // Returns true if gangs that cross the same links slow each other down.
  bool shares_links() const { return shares_links_; }
  // Returns the links between nodes, after congestion.
  const Fabric& fabric() const { return *fabric_; }

  // Returns a number. Jobs with the same number have equal speeds on every gang. O(1).
  std::uint32_t alike(JobId job) const { return alike_[job]; }

  // Returns null if the job's model has no profile.
  const ModelProfile* profile(JobId job) const;
  // Returns the number of jobs with a named model that has no profile.
  std::int64_t models_unknown() const { return models_unknown_; }
  // Returns the assumed speeds by model and GPU type, without jobs that name no profile.
  const std::vector<AssumedSpeed>& assumed() const { return assumed_; }
  // Returns the type of durations if the trace names none; none() if the cluster has no such GPU.
  GpuTypeId reference_type() const { return reference_type_; }

 private:
  friend class SpeedBuilder;
  using TierRates = std::array<double, kTiers>;  // per GPU, by Tier; 0: infeasible

  // A profile after all table rules. rates[type * sizes.size() + i] applies to gangs of sizes[i] GPUs up to the next
  // size. Types are numbered from the cluster's; types that only the table has follow.
  struct Resolved {
    ModelProfile profile;
    std::vector<std::uint32_t> sizes;
    std::vector<TierRates> rates;
    std::vector<double> compute_ms;  // time of one iteration, by type; empty: measured locality
    // By type: a text about unmeasured rates, and whether the model has no row for the type.
    std::vector<std::string> assumed;
    std::vector<bool> unknown;

    const TierRates& at(std::size_t type, std::uint32_t gpus) const;
  };
  static constexpr std::uint32_t kNoProfile = 0xffffffff;
  struct Reference {
    std::uint32_t model = kNoProfile;  // row of models_
    std::uint32_t gpus = 1;            // asked
    double rate = 1;                   // rate of the whole reference gang
    friend auto operator<=>(const Reference&, const Reference&) = default;
  };
  const Reference& reference_of(JobId job) const { return references_[alike_[job]]; }

  double rate_per_gpu(const Resolved& model, std::size_t type, std::uint32_t gpus, Tier tier,
                      const TypeLinks& links) const;
  double slowest_member(const Resolved& model, Gang gang, std::uint32_t gpus) const;

  const Cluster* cluster_ = nullptr;
  std::optional<Fabric> fabric_;  // congestion included
  TypeLinks links_;               // the same
  bool shares_links_ = false;
  Exchange exchange_ = Exchange::kRing;
  std::vector<Resolved> models_;
  std::vector<Reference> references_;     // no two are equal
  IdVector<JobId, std::uint32_t> alike_;  // rows of references_
  std::int64_t models_unknown_ = 0;
  std::vector<AssumedSpeed> assumed_;
  GpuTypeId reference_type_;
};

}  // namespace fairlead
