// Models YAML: any text gives profiles with computable speeds, or an error.

#include "fairlead/base/check.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"

#include <string_view>

namespace fairlead {
namespace {

// One job of three GPUs per model.
Workload one_job_each(const SpeedTable& table) {
  Workload workload;
  for (const ModelProfile& model : table.models) {
    workload.jobs.user.push_back(UserId(0));
    workload.jobs.model.push_back(workload.models.push_back(model.name));
    workload.jobs.gpus.push_back(3);
    workload.reference_types.push_back("");
  }
  return workload;
}

void check_speeds(const Cluster& cluster, const SpeedTable& table, UnknownSpeed rule) {
  Workload workload = one_job_each(table);
  const Result<Speed> speed = Speed::make(cluster, table, workload, "", {}, {.rule = rule});
  FL_CHECK(speed.has_value(), "{}", speed.error().message);
  const Slice mixed[] = {{NodeId(0), 2}, {NodeId(2), 1}};
  for (JobId job : ids<JobId>(workload.jobs.user.size())) {
    const Rate rate = speed->rate(job, mixed);
    FL_CHECK(rate.fixed >= 0 && rate <= Rate::of(1e6), "rate {}", rate.fixed);
    FL_CHECK(speed->locality(job, mixed) <= Rate::one());
  }
}

void check(std::string_view text) {
  const Result<SpeedTable> table = parse_models_yaml(text, "fuzz.yaml");
  if (!table) {
    FL_CHECK(table.error().message.starts_with("fuzz.yaml:"), "{}", table.error().message);
    return;
  }
  static const Cluster cluster = *load_cluster("2xV100:2,1xK80:4");
  // A type without a row of the model is an error by one rule, and has a speed by another.
  for (const UnknownSpeed rule : {UnknownSpeed::kError, UnknownSpeed::kGeneric}) {
    Workload workload = one_job_each(*table);
    Speed::make(cluster, *table, workload, "", {}, {rule, builtin_gpu_factors()});
  }
  for (const UnknownSpeed rule : {UnknownSpeed::kSlowest, UnknownSpeed::kOne}) {
    check_speeds(cluster, *table, rule);
  }
}

}  // namespace
}  // namespace fairlead

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fairlead::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
