#include "fairlead/pods/learned_speeds.h"

#include "fairlead/live/live_policy.h"
#include "fairlead/model/known_speed.h"

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// Returns the first type of that product, or none.
GpuTypeId type_of(const Cluster& cluster, std::string_view product) {
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    if (product_of_type(cluster.type_names[type]) == product) return type;
  }
  return {};
}

UserId user_of(const Users& users, std::string_view name) {
  for (UserId user : ids<UserId>(users.size())) {
    if (users.names[user] == name) return user;
  }
  return {};
}

bool is_possible(const LearnedByName& speed) {
  return speed.gpus > 0 && speed.tier < kTiers && speed.asked > 0 && speed.rate_fixed > 0 &&
         speed.measurements > 0;
}

MeasuredRate measured_of(const LearnedByName& speed, Time last) {
  return {.gpus = speed.gpus,
          .tier = static_cast<Tier>(speed.tier),
          .asked = speed.asked,
          .rate = {speed.rate_fixed},
          .measurements = speed.measurements,
          .agreeing = speed.agreeing,
          .last = last};
}

}  // namespace

std::set<std::string> LearnedSpeeds::users() const {
  std::set<std::string> names;
  for (const LearnedByName& speed : speeds) names.insert(speed.user);
  return names;
}

void LearnedSpeeds::teach(Engine& engine, Time now, std::int64_t unix_ms) {
  const Tables& tables = engine.tables();
  std::erase_if(speeds, [&](const LearnedByName& speed) {
    const Duration age{std::max<std::int64_t>(0, unix_ms - speed.last_unix_ms)};
    if (age > kSpeedAge || !is_possible(speed)) return true;
    const UserId user = user_of(tables.users, speed.user);
    const GpuTypeId type = type_of(tables.cluster, speed.gpu_type);
    if (user.is_none() || type.is_none()) return false;
    engine.learn(user, speed.model, type, measured_of(speed, now - age));
    return true;
  });
}

LearnedSpeeds LearnedSpeeds::with(const Engine& engine, const GangSpeeds::References& known,
                                  Time now, std::int64_t unix_ms) const {
  const Tables& tables = engine.tables();
  const auto model_text = [&](ModelId model) {
    return model.is_none() ? std::string() : tables.models[model];
  };
  LearnedSpeeds all = *this;
  for (const LearnedSpeed& speed : engine.speeds().learned()) {
    const MeasuredRate& measured = speed.measured;
    all.speeds.push_back(
        {.user = tables.users.names[speed.user],
         .model = model_text(speed.model),
         .gpu_type = std::string(product_of_type(tables.cluster.type_names[speed.type])),
         .gpus = measured.gpus,
         .tier = static_cast<std::uint32_t>(measured.tier),
         .asked = measured.asked,
         .rate_fixed = measured.rate.fixed,
         .measurements = measured.measurements,
         .agreeing = measured.agreeing,
         .last_unix_ms = unix_ms - (now - measured.last).ms});
  }
  std::set<std::pair<std::string, std::string>> needed;
  for (const LearnedByName& speed : all.speeds) needed.emplace(speed.user, speed.model);
  for (const auto* jobs : {&tables.waiting, &tables.running}) {
    for (JobId job : jobs->members())
      needed.emplace(tables.users.names[tables.jobs.user[job]], model_text(tables.jobs.model[job]));
  }
  all.references = known;
  std::erase_if(all.references, [&](const auto& reference) {
    return !needed.contains({reference.first.user, reference.first.model});
  });
  return all;
}

}  // namespace fairlead
