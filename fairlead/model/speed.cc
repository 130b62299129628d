#include "fairlead/model/speed.h"

#include "fairlead/base/parse.h"
#include "fairlead/model/type_sets.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>

namespace fairlead {
namespace {

std::size_t index_of(Tier tier) { return static_cast<std::size_t>(tier); }

Rate quantised(double speed) {
  if (!(speed > 0)) return {0};
  return std::max(Rate::of(std::min(speed, 1e6)), Rate{1});
}

// A job without a profile runs at the speed of its asked gang, scaled by the gang it gets.
Rate unprofiled(std::uint32_t gpus, std::uint32_t asked) {
  if (gpus == asked) return Rate::one();
  return {std::max<std::int64_t>(1, (Rate::kOne * gpus + asked / 2) / asked)};
}

// Returns the row for a gang of `gpus`: the next smaller size, or the first row.
const RateRow& row_for(const TypeRates& rates, std::uint32_t gpus) {
  const auto above = std::ranges::upper_bound(rates.rows, gpus, {}, &RateRow::gpus);
  return above == rates.rows.begin() ? *above : *(above - 1);
}

// `analytic`: the tier's factor comes from the model's communication figures instead.
double rate_at(const RateRow& row, const ModelProfile& profile, Tier tier, bool analytic) {
  const bool fits = tier < Tier::kRack || !row.spread || *row.spread > 0;
  if (analytic) return fits ? row.consolidated : 0;
  const auto& locality = profile.locality;
  if (tier < Tier::kRack || !row.spread) return row.consolidated * locality[index_of(tier)];
  return *row.spread * (locality[index_of(tier)] / locality[index_of(Tier::kRack)]);
}

}  // namespace

std::string type_key(std::string_view gpu_type) {
  std::string key(gpu_type);
  for (char& c : key) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return key;
}

const ModelProfile* SpeedTable::find(std::string_view model) const {
  const auto found = std::ranges::find(models, model, &ModelProfile::name);
  return found == models.end() ? nullptr : &*found;
}

const ModelProfile* SpeedTable::find_alike(std::string_view model) const {
  const std::string name = type_key(model);
  const auto found = std::ranges::find_if(models, [&](const ModelProfile& profile) {
    return std::ranges::any_of(
        profile.also, [&](const std::string& part) { return name.find(part) != name.npos; });
  });
  return found == models.end() ? nullptr : &*found;
}

// Applies the rules of the table once, so that Speed only needs lookups.
class SpeedBuilder {
 public:
  SpeedBuilder(const Cluster& cluster, const SpeedTable& table, Workload& workload,
               const NetworkOptions& network, const UnknownSpeeds& unknown)
      : cluster_(cluster),
        table_(table),
        workload_(workload),
        network_(network.kind),
        unknown_(unknown),
        free_links_(type_links(cluster, Fabric(cluster))) {
    speed_.cluster_ = &cluster;
    speed_.fabric_.emplace(cluster, network.congestion);
    speed_.links_ = type_links(cluster, *speed_.fabric_);
    speed_.shares_links_ = network.kind == NetworkKind::kContention;
    speed_.exchange_ = network.exchange;
    number_types();
    resolve_models();
  }

  Result<Speed> build(std::string_view reference_gpu) {
    std::size_t fallback = fastest_type();
    if (!reference_gpu.empty()) {
      FL_TRY_ASSIGN(named, type_named(reference_gpu));
      fallback = named;
    }
    if (fallback < cluster_.type_names.size()) speed_.reference_type_ = GpuTypeId(fallback);
    if (unknown_.rule == UnknownSpeed::kOne) assume_reference(fallback);
    workload_.jobs.types.resize(workload_.jobs.user.size());
    speed_.alike_.reserve(workload_.jobs.user.size());
    for (JobId job : ids<JobId>(workload_.jobs.user.size())) {
      speed_.alike_.push_back(numbered(refer(job, fallback)));
    }
    FL_TRY(check_assumed());
    return std::move(speed_);
  }

 private:
  using Resolved = Speed::Resolved;

  // Numbers the types: the cluster's types keep their ids; types that only the table has follow.
  void number_types() {
    for (const std::string& type : cluster_.type_names) number_type(type);
    for (const ModelProfile& model : table_.models) {
      for (const TypeRates& rates : model.rates) number_type(rates.gpu_type);
    }
  }

  void number_type(const std::string& name) {
    if (!types_.try_emplace(type_key(name), types_.size()).second) return;
    type_names_.push_back(name);
    const std::string product = type_key(product_of_type(name));
    products_.push_back(
        product_numbers_.try_emplace(product, product_numbers_.size()).first->second);
  }

  void resolve_models() {
    const Jobs& jobs = workload_.jobs;
    profile_of_.resize(workload_.models.size(), Speed::kNoProfile);
    IdVector<ModelId, bool> used(workload_.models.size(), false);
    for (ModelId model : jobs.model) {
      if (!model.is_none()) used[model] = true;
    }
    for (ModelId model : ids<ModelId>(used.size())) {
      if (!used[model]) continue;
      const auto profile = profile_of(workload_.models[model]);
      if (!profile || profile->rates.empty()) continue;
      profile_of_[model] = static_cast<std::uint32_t>(speed_.models_.size());
      speed_.models_.push_back(resolve(*profile));
    }
    if (unknown_.rule == UnknownSpeed::kGeneric) resolve_generic();
  }

  // Returns the profile of the model, or one with estimates from the row for such names.
  std::optional<ModelProfile> profile_of(const std::string& model) const {
    if (const ModelProfile* named = table_.find(model)) return *named;
    const ModelProfile* alike = table_.find_alike(model);
    if (alike == nullptr) return {};
    ModelProfile profile = *alike;
    profile.name = model;
    for (TypeRates& rates : profile.rates) {
      rates.estimated = fmt::format("as {}, by its name{}{}", alike->name,
                                    rates.estimated.empty() ? "" : "; ", rates.estimated);
    }
    return profile;
  }

  // Resolves a model with the factors of GPU types, if a job has no other profile.
  void resolve_generic() {
    const auto has_none = [&](ModelId model) {
      return model.is_none() || profile_of_[model] == Speed::kNoProfile;
    };
    if (std::ranges::none_of(workload_.jobs.model, has_none)) return;
    ModelProfile generic{.name = "any other model"};
    for (const std::string& type : cluster_.type_names) {
      if (const GpuFactor* const found = unknown_.factors.find(type))
        generic.rates.push_back(
            {type, {{.consolidated = found->factor}}, "by the table of GPU types"});
    }
    if (generic.rates.empty()) return;
    generic_ = static_cast<std::uint32_t>(speed_.models_.size());
    speed_.models_.push_back(resolve(generic));
  }

  Resolved resolve(const ModelProfile& profile) const {
    Resolved model{profile, {}, {}, {}, {}, {}};
    std::vector<const TypeRates*> known(types_.size(), nullptr);
    for (const TypeRates& rates : profile.rates) {
      FL_CHECK(!rates.rows.empty(), "model {} on {}", profile.name, rates.gpu_type);
      known[types_.at(type_key(rates.gpu_type))] = &rates;
      for (const RateRow& row : rates.rows) model.sizes.push_back(row.gpus);
    }
    // Types of one product are as fast as one another.
    for (GpuTypeId type : ids<GpuTypeId>(cluster_.type_names.size())) {
      const auto product = types_.find(type_key(product_of_type(cluster_.type_names[type])));
      if (known[type.row()] == nullptr && product != types_.end()) {
        known[type.row()] = known[product->second];
      }
    }
    std::ranges::sort(model.sizes);
    model.sizes.erase(std::unique(model.sizes.begin(), model.sizes.end()), model.sizes.end());
    model.rates.resize(types_.size() * model.sizes.size());
    const bool analytic = network_ != NetworkKind::kProfiled && profile.communication.has_value();
    for (std::size_t i = 0; i < model.sizes.size(); ++i) fill(model, i, known, analytic);
    say_assumed(model, known);
    if (unknown_.rule == UnknownSpeed::kGeneric) scale_unknown(model, known);
    if (analytic) model.compute_ms = compute_by_type(model);
    return model;
  }

  // Returns the time of one iteration on each type, by the ratio of the types' rates. The rates are those at the
  // smallest gang size with a rate for both the type and the timed type.
  std::vector<double> compute_by_type(const Resolved& model) const {
    const Communication& timed = *model.profile.communication;
    const std::string& name =
        timed.gpu_type.empty() ? model.profile.rates[0].gpu_type : timed.gpu_type;
    const std::size_t reference = types_.at(type_key(name));
    std::vector<double> compute_ms(types_.size(), timed.compute_ms);
    for (std::size_t type = 0; type < types_.size(); ++type) {
      for (std::uint32_t gpus : model.sizes) {
        const double there = model.at(reference, gpus)[index_of(Tier::kPair)];
        const double here = model.at(type, gpus)[index_of(Tier::kPair)];
        if (there <= 0 || here <= 0) continue;
        compute_ms[type] = timed.compute_ms * there / here;
        break;
      }
    }
    return compute_ms;
  }

  // Fills in `assumed` and `unknown` for the types without measured rates.
  void say_assumed(Resolved& model, const std::vector<const TypeRates*>& known) const {
    model.assumed.resize(types_.size());
    model.unknown.resize(types_.size(), false);
    for (std::size_t type = 0; type < types_.size(); ++type) {
      model.unknown[type] = known[type] == nullptr;
      if (!model.unknown[type]) model.assumed[type] = known[type]->estimated;
      if (model.unknown[type]) model.assumed[type] = "as slow as on its slowest type";
    }
  }

  // Scales the rates of unknown types from the known type that is nearest by the table of GPU types. If that table has
  // no factor for the types, `assumed` stays empty.
  void scale_unknown(Resolved& model, const std::vector<const TypeRates*>& known) const {
    std::vector<std::size_t> types;
    std::vector<std::string> names;
    for (std::size_t type = 0; type < types_.size(); ++type) {
      if (known[type] == nullptr) continue;
      types.push_back(type);
      names.push_back(type_names_[type]);
    }
    const std::size_t sizes = model.sizes.size();
    for (std::size_t type = 0; type < types_.size(); ++type) {
      if (known[type] != nullptr) continue;
      const auto scaled = scaled_from(unknown_.factors, type_names_[type], names);
      model.assumed[type].clear();
      if (!scaled) continue;
      model.assumed[type] = fmt::format("{:.3g} times that on {}, by the table of GPU types",
                                        scaled->factor, type_names_[types[scaled->known]]);
      for (std::size_t i = 0; i < sizes; ++i) {
        for (std::size_t tier = 0; tier < kTiers; ++tier) {
          model.rates[type * sizes + i][tier] =
              model.rates[types[scaled->known] * sizes + i][tier] * scaled->factor;
        }
      }
    }
  }

  // Gives unknown types the rates of `reference`, if the model has rates there.
  void assume_reference(std::size_t reference) {
    for (Resolved& model : speed_.models_) {
      if (model.unknown[reference]) continue;
      const std::size_t sizes = model.sizes.size();
      for (std::size_t type = 0; type < types_.size(); ++type) {
        if (!model.unknown[type]) continue;
        model.assumed[type] = fmt::format("as fast as on {}", type_names_[reference]);
        for (std::size_t i = 0; i < sizes; ++i) {
          model.rates[type * sizes + i] = model.rates[reference * sizes + i];
        }
      }
      if (!model.compute_ms.empty()) model.compute_ms = compute_by_type(model);
    }
  }

  // Fills in the rates at size `i` of every type; unknown types get the slowest known rate above 0.
  static void fill(Resolved& model, std::size_t i, const std::vector<const TypeRates*>& known,
                   bool analytic) {
    for (std::size_t tier = 0; tier < kTiers; ++tier) {
      double slowest = std::numeric_limits<double>::infinity();
      const auto rate = [&](std::size_t type) -> double& {
        return model.rates[type * model.sizes.size() + i][tier];
      };
      for (std::size_t type = 0; type < known.size(); ++type) {
        if (known[type] == nullptr) continue;
        const RateRow& row = row_for(*known[type], model.sizes[i]);
        rate(type) = rate_at(row, model.profile, Tier(tier), analytic);
        if (rate(type) > 0) slowest = std::min(slowest, rate(type));
      }
      if (slowest == std::numeric_limits<double>::infinity()) slowest = 0;
      for (std::size_t type = 0; type < known.size(); ++type) {
        if (known[type] == nullptr) rate(type) = slowest;
      }
    }
  }

  std::size_t fastest_type() const {
    std::vector<double> score(cluster_.type_names.size(), 0);
    for (const Resolved& model : speed_.models_) {
      const auto rate = [&](std::size_t type) { return model.at(type, 1)[index_of(Tier::kPair)]; };
      double fastest = 0;
      for (std::size_t type = 0; type < score.size(); ++type) {
        fastest = std::max(fastest, rate(type));
      }
      if (fastest == 0) continue;
      // The product of the ratios, so that no model's unit or size weighs more than another's; a
      // type on which a model cannot run counts as a thousandth of the fastest.
      for (std::size_t type = 0; type < score.size(); ++type) {
        score[type] += std::log(std::max(rate(type) / fastest, 1e-3));
      }
    }
    return static_cast<std::size_t>(std::ranges::max_element(score) - score.begin());
  }

  Result<std::size_t> type_named(std::string_view name) const {
    if (const auto found = types_.find(type_key(name)); found != types_.end()) {
      return found->second;
    }
    std::string known;
    for (const auto& [type, number] : types_) known += (known.empty() ? "" : ", ") + type;
    return input_error(
        "neither the cluster nor the table of models has the reference GPU type (known: {}): {}",
        known, name);
  }

  // Returns the row of the job's profile, or of the generic one if there is one. Counts named models without a profile.
  std::uint32_t profile_row(JobId job) {
    const ModelId model = workload_.jobs.model[job];
    const std::uint32_t row = model.is_none() ? Speed::kNoProfile : profile_of_[model];
    if (row != Speed::kNoProfile) return row;
    if (!model.is_none() && generic_ == Speed::kNoProfile) ++speed_.models_unknown_;
    return generic_;
  }

  std::uint32_t numbered(const Speed::Reference& reference) {
    const auto next = static_cast<std::uint32_t>(speed_.references_.size());
    const auto [found, is_new] = numbers_.try_emplace(reference, next);
    if (is_new) speed_.references_.push_back(reference);
    return found->second;
  }

  // Returns the job's reference, and sets the types that it runs on.
  Speed::Reference refer(JobId job, std::size_t fallback) {
    Speed::Reference reference{.model = profile_row(job), .gpus = workload_.jobs.gpus[job]};
    const std::string& named = workload_.reference_types[job];
    if (!named.empty()) {
      // A trace of another cluster may name types that are unknown here; its other rows are usable.
      const Result<std::size_t> type = type_named(named);
      if (type) fallback = *type;
      if (!type) ++workload_.rows.rows_repaired["unknown reference GPU type"];
    }
    TypeMask& types = workload_.jobs.types[job];
    if (reference.model == Speed::kNoProfile) {
      types = mask_of_cluster() & allowed(job);
      return reference;
    }
    count_assumed(job, reference.model, fallback);
    const double fastest = feasible(speed_.models_[reference.model], reference.gpus, types);
    double rate = speed_.rate_per_gpu(speed_.models_[reference.model], fallback, reference.gpus,
                                      cluster_.best_tier(reference.gpus), free_links_);
    if (rate == 0) rate = fastest;
    if (rate > 0) reference.rate = reference.gpus * rate;
    FL_CHECK(reference.rate > 0, "job {} has no reference speed", job.row());
    types &= allowed(job);
    return reference;
  }

  // Counts the job for each type on which its speed was not measured. A job that may run on only one product, the
  // one of its duration, has speed 1 there at any rate.
  void count_assumed(JobId job, std::uint32_t model, std::size_t reference) {
    const std::vector<std::string>& assumed = speed_.models_[model].assumed;
    const std::vector<bool>& unknown = speed_.models_[model].unknown;
    const TypeMask types = mask_of_cluster() & allowed(job);
    bool one_product = true;
    for (GpuTypeId type : ids<GpuTypeId>(cluster_.type_names.size())) {
      const bool is_of_reference = products_[type.row()] == products_[reference];
      one_product = one_product && ((types & type_bit(type)) == 0 || is_of_reference);
    }
    if (one_product) return;
    for (std::size_t type = 0; type < assumed.size(); ++type) {
      const bool may_run =
          type < cluster_.type_names.size() && (types & type_bit(GpuTypeId(type))) != 0;
      if (!may_run && type != reference) continue;
      if (unknown[type] || !assumed[type].empty()) ++assumed_[{model, type}];
    }
  }

  // Lists the assumed speeds. Error: there is no rule for an unknown speed.
  Status check_assumed() {
    std::string refused;
    std::size_t more = 0;
    for (const auto& [where, jobs] : assumed_) {
      const Resolved& model = speed_.models_[where.first];
      const std::string& type = type_names_[where.second];
      const std::string& as = model.assumed[where.second];
      const bool no_rule = unknown_.rule == UnknownSpeed::kError || as.empty();
      speed_.assumed_.push_back({model.profile.name, type, as, jobs});
      if (!model.unknown[where.second] || !no_rule) continue;
      constexpr std::size_t kShown = 400;  // bytes
      if (refused.size() > kShown && ++more > 0) continue;
      refused += fmt::format("{}{} on {} ({} job{})", refused.empty() ? "" : ", ",
                             model.profile.name, type, jobs, jobs == 1 ? "" : "s");
    }
    if (refused.empty()) return {};
    if (more > 0) refused += fmt::format(" and {} more", more);
    if (unknown_.rule == UnknownSpeed::kGeneric) {
      return input_error(
          "speeds are missing in the table of models and in the table of GPU types (fairlead "
          "models lists both; give speeds by --set models=FILE): {}",
          refused);
    }
    return input_error(
        "speeds are missing in the table of models; take another table (fairlead models lists "
        "them; --set models=TABLE or FILE), or choose an assumption (--set "
        "unknown_speed=generic, slowest or 1): {}",
        refused);
  }

  // Returns the types that the job's row allows.
  TypeMask allowed(JobId job) const {
    const auto named = workload_.runs_on.find(job);
    if (named == workload_.runs_on.end()) return kAllTypes;
    return types_named(cluster_, named->second);
  }

  TypeMask mask_of_cluster() const {
    TypeMask types = 0;
    for (GpuTypeId type : ids<GpuTypeId>(cluster_.type_names.size())) types |= type_bit(type);
    return types;
  }

  // Collects the types on which a gang of `gpus` can run, and returns its fastest rate per GPU. A
  // type counts only if the gang runs there at every tier that it can have here, because policies
  // place by number and type. A gang that runs out of memory when spread is kept off that type.
  double feasible(const Resolved& model, std::uint32_t gpus, TypeMask& types) const {
    const std::size_t best = index_of(cluster_.best_tier(gpus));
    const std::size_t widest = std::max(best, index_of(cluster_.best_tier(cluster_.gpus)));
    double fastest = 0;
    types = 0;
    for (GpuTypeId type : ids<GpuTypeId>(cluster_.type_names.size())) {
      bool everywhere = true;
      for (std::size_t tier = best; tier <= widest; ++tier) {
        const double rate = speed_.rate_per_gpu(model, type.row(), gpus, Tier(tier), free_links_);
        everywhere = everywhere && rate > 0;
        fastest = std::max(fastest, rate);
      }
      if (everywhere) types |= type_bit(type);
    }
    return fastest;
  }

  const Cluster& cluster_;
  const SpeedTable& table_;
  Workload& workload_;
  const NetworkKind network_;
  const UnknownSpeeds& unknown_;
  const TypeLinks free_links_;                // without congestion
  std::map<std::string, std::size_t> types_;  // by lower-case name
  std::vector<std::string> type_names_;       // as first written
  std::vector<std::size_t> products_;         // product of each type: equal numbers are one product
  std::map<std::string, std::size_t> product_numbers_;
  // Jobs by row of speed_.models_ and type.
  std::map<std::pair<std::uint32_t, std::size_t>, std::int64_t> assumed_;
  IdVector<ModelId, std::uint32_t> profile_of_;
  std::uint32_t generic_ = Speed::kNoProfile;  // row of the profile of all models without one
  std::map<Speed::Reference, std::uint32_t> numbers_;
  Speed speed_;
};

Result<Speed> Speed::make(const Cluster& cluster, const SpeedTable& table, Workload& workload,
                          std::string_view reference_gpu, const NetworkOptions& network,
                          const UnknownSpeeds& unknown) {
  return SpeedBuilder(cluster, table, workload, network, unknown).build(reference_gpu);
}

const Speed::TierRates& Speed::Resolved::at(std::size_t type, std::uint32_t gpus) const {
  const auto above = std::ranges::upper_bound(sizes, gpus);
  const auto row = above == sizes.begin() ? 0 : above - sizes.begin() - 1;
  return rates[type * sizes.size() + static_cast<std::size_t>(row)];
}

// Returns the rate of one GPU. A type that only the table has gets the links of the first type.
double Speed::rate_per_gpu(const Resolved& model, std::size_t type, std::uint32_t gpus, Tier tier,
                           const TypeLinks& links) const {
  const double rate = model.at(type, gpus)[index_of(tier)];
  if (model.compute_ms.empty()) return rate;
  const Links& own = links[GpuTypeId(type < links.size() ? type : 0)];
  const auto length_ms = [&](Tier at) {
    return iteration_of(*model.profile.communication, model.compute_ms[type], gpus, at, own,
                        exchange_)
        .alone_ms();
  };
  return rate * (length_ms(gpus <= 2 ? Tier::kPair : Tier::kNode) / length_ms(tier));
}

double Speed::slowest_member(const Resolved& model, Gang gang, std::uint32_t gpus) const {
  const Tier tier = cluster_->tier_of(gang);
  const Route route = model.compute_ms.empty() ? Route{} : fabric_->route(*cluster_, gang);
  double slowest = std::numeric_limits<double>::infinity();
  for (Slice slice : gang) {
    const GpuTypeId type = cluster_->node_type[slice.node];
    double rate = model.at(type.row(), gpus)[index_of(tier)];
    if (!model.compute_ms.empty()) {
      const Communication& communication = *model.profile.communication;
      const double compute_ms = model.compute_ms[type.row()];
      const Tier inside = gpus <= 2 ? Tier::kPair : Tier::kNode;
      const Iteration near =
          iteration_of(communication, compute_ms, gpus, inside, links_[type], exchange_);
      const Iteration here = iteration_at(communication, compute_ms, gpus, route.gbps,
                                          cluster_->links.latency_us, exchange_, route.host_gpus);
      rate *= near.alone_ms() / here.alone_ms();
    }
    slowest = std::min(slowest, rate);
  }
  return slowest;
}

Rate Speed::rate(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const {
  const Reference& reference = reference_of(job);
  FL_DCHECK(gpus >= 1 && cluster_->type_names.has(type), "{} GPUs of type {}", gpus, type.row());
  if (reference.model == kNoProfile) return unprofiled(gpus, reference.gpus);
  const double rate = rate_per_gpu(models_[reference.model], type.row(), gpus, tier, links_);
  return quantised(gpus * rate / reference.rate);
}

Rate Speed::rate(JobId job, Gang gang) const {
  FL_DCHECK(!gang.empty());
  const Reference& reference = reference_of(job);
  const std::uint32_t gpus = gpus_of(gang);
  if (reference.model == kNoProfile) return unprofiled(gpus, reference.gpus);
  const double rate = slowest_member(models_[reference.model], gang, gpus);
  return quantised(gpus * rate / reference.rate);
}

Rate Speed::locality(JobId job, Gang gang) const {
  FL_DCHECK(!gang.empty());
  const Reference& reference = reference_of(job);
  if (reference.model == kNoProfile) return Rate::one();
  if (const auto one = iteration(job, gang)) return quantised(one->compute_ms / one->alone_ms());
  const Resolved& model = models_[reference.model];
  const std::uint32_t gpus = gpus_of(gang);
  const auto at = [&](Tier tier) {
    double slowest = std::numeric_limits<double>::infinity();
    for (Slice slice : gang) {
      const std::size_t type = cluster_->node_type[slice.node].row();
      slowest = std::min(slowest, rate_per_gpu(model, type, gpus, tier, links_));
    }
    return slowest;
  };
  const double here = at(cluster_->tier_of(gang));
  const double best = at(cluster_->best_tier(gpus));
  return here >= best ? Rate::one() : quantised(here / best);
}

double Speed::locality(JobId job, GpuTypeId type, std::uint32_t gpus, Tier tier) const {
  const Reference& reference = reference_of(job);
  if (reference.model == kNoProfile) return 1;
  const Resolved& model = models_[reference.model];
  if (!model.compute_ms.empty()) {
    const double compute_ms = model.compute_ms[type.row()];
    return compute_ms / iteration_of(*model.profile.communication, compute_ms, gpus, tier,
                                     links_[type], exchange_)
                            .alone_ms();
  }
  const double best = rate_per_gpu(model, type.row(), gpus, cluster_->best_tier(gpus), links_);
  return std::min(rate_per_gpu(model, type.row(), gpus, tier, links_) / best, 1.0);
}

std::optional<Iteration> Speed::iteration(JobId job, Gang gang) const {
  const std::uint32_t row = reference_of(job).model;
  if (row == kNoProfile || models_[row].compute_ms.empty()) return std::nullopt;
  const Resolved& model = models_[row];
  double compute_ms = 0;
  for (Slice slice : gang) {
    compute_ms = std::max(compute_ms, model.compute_ms[cluster_->node_type[slice.node].row()]);
  }
  const Route route = fabric_->route(*cluster_, gang);
  return iteration_at(*model.profile.communication, compute_ms, gpus_of(gang), route.gbps,
                      cluster_->links.latency_us, exchange_, route.host_gpus);
}

const ModelProfile* Speed::profile(JobId job) const {
  const std::uint32_t model = reference_of(job).model;
  return model == kNoProfile ? nullptr : &models_[model].profile;
}

}  // namespace fairlead
