#include "fairlead/client/answers.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

using nlohmann::json;

const json& field(const json& object, const char* key) {
  static const json kNothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? kNothing : *found;
}

std::string text(const json& object, const char* key) {
  const json& value = field(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool flag(const json& object, const char* key) {
  const json& value = field(object, key);
  return value.is_boolean() && value.get<bool>();
}

std::optional<double> number(const json& object, const char* key) {
  const json& value = field(object, key);
  if (!value.is_number()) return std::nullopt;
  return value.get<double>();
}

std::optional<std::int64_t> integer(const json& object, const char* key) {
  const json& value = field(object, key);
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

// The elements of a list, each as `read` makes it.
template <class Read>
auto list(const json& object, const char* key, Read read) {
  std::vector<decltype(read(object))> rows;
  const json& value = field(object, key);
  if (!value.is_array()) return rows;
  for (const json& element : value) rows.push_back(read(element));
  return rows;
}

GpuAnswer::Foreign foreign_answer(const json& process) {
  return {.pid = integer(process, "pid").value_or(0),
          .name = text(process, "name"),
          .user = text(process, "user"),
          .remark = text(process, "remark")};
}

NodeAnswer node_answer(const json& node) {
  return {.name = text(node, "name"),
          .type = text(node, "type"),
          .is_cordoned = flag(node, "is_cordoned"),
          .gpus = list(node, "gpus", [](const json& gpu) {
            return GpuAnswer{.index = integer(gpu, "index").value_or(0),
                             .state = text(gpu, "state"),
                             .job = integer(gpu, "job"),
                             .foreign = list(gpu, "foreign", foreign_answer),
                             .outage = text(gpu, "outage")};
          })};
}

JobAnswer::On on_answer(const json& on) {
  return {.node = text(on, "node"), .gpus = list(on, "gpus", [](const json& gpu) {
                                      return gpu.is_number_integer() ? gpu.get<std::int64_t>()
                                                                     : std::int64_t{0};
                                    })};
}

std::optional<JobAnswer::Progress> progress_answer(const json& progress) {
  if (!progress.is_object()) return std::nullopt;
  return JobAnswer::Progress{.done = number(progress, "done").value_or(0),
                             .total = number(progress, "total").value_or(0),
                             .unit_per_s = number(progress, "unit_per_s").value_or(0)};
}

JobExtras extras_answer(const json& job) {
  JobExtras extras = kSubmittedExtras;
  JobExtras::each(extras, [&](const char* name, auto& value, const auto& range) {
    const std::int64_t read = integer(job, name).value_or(value);
    if (read == 0 || range.has(read)) value = static_cast<std::uint32_t>(read);
  });
  return extras;
}

UserAnswer user_answer(const json& user) {
  return {.name = text(user, "name"),
          .tickets = integer(user, "tickets").value_or(1),
          .gpu_s = number(user, "gpu_s").value_or(0),
          .entitled_gpus = number(user, "entitled_gpus").value_or(0),
          .allocated_gpus = integer(user, "held_gpus").value_or(0),
          .gpus_max = integer(user, "max_gpus").value_or(0),
          .jobs_waiting = integer(user, "jobs_waiting").value_or(0),
          .jobs_running = integer(user, "jobs_running").value_or(0)};
}

std::optional<ModelAnswer::Profile> model_profile(const json& profile) {
  if (!profile.is_object()) return std::nullopt;
  return ModelAnswer::Profile{.gradients_mb = number(profile, "gradients_mb").value_or(0),
                              .largest_tensor_mb = number(profile, "largest_tensor_mb").value_or(0),
                              .workers = integer(profile, "workers").value_or(1),
                              .samples = integer(profile, "samples")};
}

ModelAnswer model_answer(const json& model) {
  return {.user = text(model, "user"),
          .model = text(model, "model"),
          .gpu_type = text(model, "gpu_type"),
          .gpus = integer(model, "gpus").value_or(1),
          .tier = text(model, "tier"),
          .speed = number(model, "speed").value_or(0),
          .measurements = integer(model, "measurements").value_or(0),
          .confidence = number(model, "confidence").value_or(0),
          .measured_unix_ms = integer(model, "measured_unix_ms").value_or(0),
          .profile = model_profile(field(model, "profile"))};
}

ReservationAnswer reservation_answer(const json& one) {
  return {.id = integer(one, "id").value_or(0),
          .user = text(one, "user"),
          .group = text(one, "group"),
          .gpus = integer(one, "gpus").value_or(1),
          .gpu_type = text(one, "gpu_type"),
          .from_unix_ms = integer(one, "from_unix_ms").value_or(0),
          .to_unix_ms = integer(one, "to_unix_ms").value_or(0),
          .state = text(one, "state"),
          .text = text(one, "text")};
}

}  // namespace

std::vector<ReservationAnswer> reservation_answers(const json& answer) {
  return list(answer, "reservations", reservation_answer);
}

ClusterAnswer cluster_answer(const json& answer) {
  return {.now_unix_ms = integer(answer, "now_unix_ms").value_or(0),
          .policy = text(answer, "policy"),
          .policy_options = text(answer, "policy_options"),
          .nodes = list(answer, "nodes", node_answer),
          .reservations = reservation_answers(answer)};
}

JobAnswer job_answer(const json& job) {
  return {.id = integer(job, "id").value_or(0),
          .name = text(job, "name"),
          .user = text(job, "user"),
          .model = text(job, "model"),
          .gpus = integer(job, "gpus").value_or(1),
          .extras = extras_answer(job),
          .state = text(job, "state"),
          .submitted_unix_ms = integer(job, "submitted_unix_ms").value_or(0),
          .since_unix_ms = integer(job, "since_unix_ms").value_or(0),
          .finished_unix_ms = integer(job, "finished_unix_ms"),
          .gpu_s = number(job, "gpu_s").value_or(0),
          .on = list(job, "on", on_answer),
          .restarts = integer(job, "restarts").value_or(0),
          .reason = text(job, "reason"),
          .exit_code = integer(job, "exit_code"),
          .signal = integer(job, "signal"),
          .declared_s = number(job, "declared_s"),
          .limit_s = number(job, "limit_s"),
          .retries_left = integer(job, "retries_left"),
          .idle_s = number(job, "idle_s"),
          .progress = progress_answer(field(job, "progress")),
          .log = text(job, "log")};
}

std::vector<JobAnswer> job_answers(const json& answer) {
  auto jobs = list(answer, "jobs", job_answer);
  std::ranges::sort(jobs, {}, &JobAnswer::id);
  return jobs;
}

std::vector<UserAnswer> user_answers(const json& answer) {
  auto users = list(answer, "users", user_answer);
  std::ranges::sort(users, {}, &UserAnswer::name);
  return users;
}

std::vector<GroupAnswer> group_answers(const json& answer) {
  return list(answer, "groups", [](const json& group) {
    return GroupAnswer{.name = text(group, "name"),
                       .gpus_max = integer(group, "max_gpus").value_or(0),
                       .allocated_gpus = integer(group, "held_gpus").value_or(0),
                       .users = list(group, "users", [](const json& user) {
                         return user.is_string() ? user.get<std::string>() : std::string();
                       })};
  });
}

std::vector<UsageAnswer> usage_answers(const json& answer) {
  return list(answer, "usage", [](const json& use) {
    return UsageAnswer{.user = text(use, "user"),
                       .model = text(use, "model"),
                       .gpu_type = text(use, "gpu_type"),
                       .is_foreign = flag(use, "foreign"),
                       .gpu_s = number(use, "gpu_s").value_or(0)};
  });
}

std::vector<ModelAnswer> model_answers(const json& answer) {
  auto models = list(answer, "models", model_answer);
  std::ranges::stable_sort(
      models, {}, [](const ModelAnswer& model) { return std::pair(model.user, model.model); });
  return models;
}

}  // namespace fairlead
