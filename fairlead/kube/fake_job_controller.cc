#include "fairlead/kube/fake_job_controller.h"

#include "fairlead/kube/fake_objects.h"
#include "fairlead/kube/fake_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

constexpr Duration kFirstBackoff = seconds(10);
constexpr std::string_view kIndex = "batch.kubernetes.io/job-completion-index";

bool is_finished(const Json& job) {
  return has_condition(job, "Complete") || has_condition(job, "Failed");
}

}  // namespace

void FakeJobController::pod_changed(const FakeChange& change) {
  const Json& pod = change.after ? *change.after : *change.before;
  const Json& owner = owner_of(pod);
  if (text_at(owner, {"kind"}) != "Job") return;
  JobState& state = jobs_[text_at(owner, {"uid"})];
  const bool was_over = change.before && is_over(*change.before);
  if (change.after && is_over(pod) && !was_over) {
    if (phase_of(pod) == "Succeeded") {
      ++state.succeeded;
      state.in_a_row = 0;
      state.done.insert(annotation(pod, kIndex, -1));
    } else if (!own_deletes_.contains(uid_of(pod))) {
      if (!has_condition(pod, "DisruptionTarget")) ++state.failed;
      const auto doublings = std::min<std::int64_t>(state.in_a_row++, 5);
      state.not_before = planner_.now() + Duration{kFirstBackoff.ms << doublings};
    }
  }
  const FakeKey job = {std::string(kJobs), change.key.name_space, text_at(owner, {"name"})};
  plan_job(job, planner_.draw(planner_.delays().controller));
}

void FakeJobController::job_changed(const FakeKey& key) {
  plan_job(key, planner_.draw(planner_.delays().controller));
}

void FakeJobController::plan_job(const FakeKey& key, Duration delay) {
  const FakeObject job = store_.find(key);
  if (!job) return;
  JobState& state = jobs_[uid_of(*job)];
  if (std::exchange(state.is_planned, true)) return;
  planner_.plan(delay, [this, key, uid = uid_of(*job)] {
    jobs_[uid].is_planned = false;
    reconcile(key);
  });
}

void FakeJobController::reconcile(const FakeKey& key) {
  const FakeObject found = store_.find(key);
  if (!found) return;
  Json job = *found;
  JobState& state = jobs_[uid_of(job)];
  if (is_finished(job) || is_true_at(job, {"spec", "suspend"})) {
    for (const FakeObject& pod : pods_of(store_, uid_of(job))) {
      if (!is_over(*pod) && !is_deleted(*pod)) delete_pod(*pod);
    }
  } else {
    scale(key, job, state);
  }
  job["status"] = job_status(job, state);
  store_.put(key, job, planner_.unix_ms());
}

// Creates missing pods, and deletes excess pods.
void FakeJobController::scale(const FakeKey& key, const Json& job, JobState& state) {
  const std::int64_t parallelism = integer_at(job, {"spec", "parallelism"}, 1);
  const std::int64_t completions = integer_at(job, {"spec", "completions"}, parallelism);
  if (state.failed > integer_at(job, {"spec", "backoffLimit"}, 6)) return;
  std::set<std::int64_t> taken = state.done;
  std::int64_t wanted = std::min(parallelism, completions - state.succeeded);
  for (const FakeObject& pod : pods_of(store_, uid_of(job))) {
    if (is_over(*pod) || is_deleted(*pod)) continue;
    if (wanted-- > 0) {
      taken.insert(annotation(*pod, kIndex, -1));
    } else {
      delete_pod(*pod);
    }
  }
  if (wanted <= 0) return;
  if (planner_.now() < state.not_before) return plan_job(key, state.not_before - planner_.now());
  const bool is_indexed = text_at(job, {"spec", "completionMode"}) == "Indexed";
  std::int64_t index = 0;
  for (; wanted > 0; --wanted) {
    while (taken.contains(index)) ++index;
    make_pod(key, job, is_indexed ? index++ : -1);
  }
}

void FakeJobController::make_pod(const FakeKey& key, const Json& job, std::int64_t index) {
  const Json& shape = json_at(job, {"spec", "template"});
  Json pod = {{"metadata", json_at(shape, {"metadata"})}, {"spec", json_at(shape, {"spec"})}};
  Json& metadata = pod["metadata"];
  for (const std::string_view prefix : {"batch.kubernetes.io/", ""}) {
    metadata["labels"][fmt::format("{}job-name", prefix)] = key.name;
    metadata["labels"][fmt::format("{}controller-uid", prefix)] = uid_of(job);
  }
  metadata["ownerReferences"] = Json::array({{{"apiVersion", "batch/v1"},
                                              {"kind", "Job"},
                                              {"name", key.name},
                                              {"uid", uid_of(job)},
                                              {"controller", true},
                                              {"blockOwnerDeletion", true}}});
  std::string name = key.name;
  if (index >= 0) {
    name += fmt::format("-{}", index);
    metadata["annotations"][std::string(kIndex)] = fmt::to_string(index);
    metadata["labels"][std::string(kIndex)] = fmt::to_string(index);
  }
  name += fmt::format("-{:05x}", planner_.below(1 << 20));
  if (quotas_.exceeded_by(key.name_space, pod)) return plan_job(key, kFirstBackoff);
  store_.put({std::string(kPods), key.name_space, name}, pod, planner_.unix_ms());
}

void FakeJobController::delete_pod(const Json& pod) {
  own_deletes_.insert(uid_of(pod));
  const FakeKey key = key_of(kPods, pod);
  store_.handle("DELETE", {key.resource, key.name_space, key.name, "", ""}, "", "",
                planner_.unix_ms());
}

Json FakeJobController::job_status(const Json& job, const JobState& state) const {
  const bool is_suspended = is_true_at(job, {"spec", "suspend"});
  std::int64_t active = 0;
  std::int64_t ready = 0;
  std::int64_t leaving = 0;
  for (const FakeObject& pod : pods_of(store_, uid_of(job))) {
    if (is_over(*pod)) continue;
    leaving += is_deleted(*pod) ? 1 : 0;
    active += is_deleted(*pod) ? 0 : 1;
    ready += phase_of(*pod) == "Running" && !is_deleted(*pod) ? 1 : 0;
  }
  Json status = json_at(job, {"status"});
  if (is_finished(job)) return status;
  strategic_merge_patch(status, {{"active", active},
                                 {"ready", ready},
                                 {"terminating", leaving},
                                 {"succeeded", state.succeeded},
                                 {"failed", state.failed}});
  const auto set = [&](Json condition) {
    strategic_merge_patch(status, {{"conditions", Json::array({std::move(condition)})}});
  };
  if (is_suspended) {
    status.erase("startTime");
    set({{"type", "Suspended"}, {"status", "True"}, {"reason", "JobSuspended"}});
    return status;
  }
  if (!status.contains("startTime")) status["startTime"] = timestamp(planner_.unix_ms());
  if (has_condition(job, "Suspended")) {
    set({{"type", "Suspended"}, {"status", "False"}, {"reason", "JobResumed"}});
  }
  const std::int64_t parallelism = integer_at(job, {"spec", "parallelism"}, 1);
  if (state.succeeded >= integer_at(job, {"spec", "completions"}, parallelism)) {
    set({{"type", "Complete"}, {"status", "True"}, {"reason", "CompletionsReached"}});
    status["completionTime"] = timestamp(planner_.unix_ms());
  } else if (state.failed > integer_at(job, {"spec", "backoffLimit"}, 6)) {
    set({{"type", "Failed"}, {"status", "True"}, {"reason", "BackoffLimitExceeded"}});
  }
  return status;
}

}  // namespace fairlead
