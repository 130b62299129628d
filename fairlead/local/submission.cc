#include "fairlead/local/submission.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace fairlead {

using nlohmann::json;

// A condition is a list of its four fields.
void to_json(json& list, const Dependency& one) {
  list = {one.first.row(), one.last.row(), one.unfinished_max, one.needs_success};
}

// Fields added since the first version have a default.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Submission, uid, gid, command, environment, folder,
                                                umask, processes, retries, failed, has_hook, lost,
                                                has_terminal, has_input, is_held)

namespace {

constexpr std::array<std::string_view, 4> kPriorities = {"low", "normal", "high", "urgent"};
constexpr std::array<std::string_view, 3> kNotify = {"never", "fail", "end"};

// Returns the value of that name, by the order of `names`.
template <class Value>
std::optional<Value> named(std::span<const std::string_view> names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Value>(found - names.begin());
}

bool is_list(const json& value, bool (json::*is_element)() const noexcept) {
  return value.is_array() &&
         std::ranges::all_of(value, [&](const json& element) { return (element.*is_element)(); });
}

// Error: these are not conditions.
Result<std::vector<Dependency>> parse_after(const json& list) {
  std::vector<Dependency> after;
  if (!list.is_array()) return input_error("not conditions");
  for (const json& one : list) {
    const bool is_one = one.is_array() && one.size() == 4 && one[0].is_number_unsigned() &&
                        one[1].is_number_unsigned() && one[2].is_number_unsigned() &&
                        one[3].is_boolean() && one[0] <= one[1];
    if (!is_one) return input_error("not a condition");
    after.push_back({.first = JobId(one[0].get<std::size_t>()),
                     .last = JobId(one[1].get<std::size_t>()),
                     .unfinished_max = one[2].get<std::uint32_t>(),
                     .needs_success = one[3].get<bool>()});
  }
  return after;
}

}  // namespace

std::string_view priority_name(Priority priority) {
  return kPriorities[static_cast<std::size_t>(priority)];
}

std::optional<Priority> priority_named(std::string_view name) {
  return named<Priority>(kPriorities, name);
}

std::string_view notify_name(Notify notify) { return kNotify[static_cast<std::size_t>(notify)]; }

std::optional<Notify> notify_named(std::string_view name) { return named<Notify>(kNotify, name); }

std::string submission_file(JobId job) { return fmt::format("jobs/{}", job.row()); }

std::string submission_text(const Submission& submission) {
  json text = submission;
  text["limit_ms"] = submission.limit.ms;
  text["priority"] = priority_name(submission.priority);
  if (submission.idle_end.ms > 0) text["idle_end_ms"] = submission.idle_end.ms;
  if (submission.gpu_memory_mb > 0) text["gpu_memory_mb"] = submission.gpu_memory_mb;
  if (submission.memory_mb > 0) text["memory_mb"] = submission.memory_mb;
  if (submission.cpu_milli > 0) text["cpu_milli"] = submission.cpu_milli;
  if (submission.notify != Notify::kNever) text["notify"] = notify_name(submission.notify);
  if (!submission.after.empty()) text["after"] = submission.after;
  if (!submission.limits.resources.empty()) {
    text["limits"] = submission.limits.resources;
    text["nice"] = submission.limits.nice;
  }
  // Bytes that are not UTF-8 cannot occur, because the text came as JSON.
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Submission> parse_submission(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  const auto has = [&](const char* name, const auto& is_right) {
    return object.contains(name) && is_right(object[name]);
  };
  const auto is_number = [](const json& value) { return value.is_number_unsigned(); };
  const auto is_text = [](const json& value) { return value.is_string(); };
  const auto is_texts = [](const json& value) { return is_list(value, &json::is_string); };
  const auto is_numbers = [](const json& value) {
    return is_list(value, &json::is_number_unsigned);
  };
  const auto may_have = [&](const char* name, const auto& is_right) {
    return !object.contains(name) || is_right(object[name]);
  };
  bool is_one = object.is_object() && has("folder", is_text) && has("command", is_texts) &&
                has("environment", is_texts) && may_have("failed", is_numbers) &&
                may_have("lost", is_text) && may_have("priority", is_text) &&
                may_have("notify", is_text) && may_have("limits", is_numbers) &&
                may_have("nice", [](const json& value) { return value.is_number_integer(); }) &&
                !object["command"].empty();
  for (const char* name : {"uid", "gid", "umask", "processes"}) {
    is_one = is_one && has(name, is_number);
  }
  for (const char* name :
       {"limit_ms", "idle_end_ms", "retries", "gpu_memory_mb", "memory_mb", "cpu_milli"})
    is_one = is_one && may_have(name, is_number);
  for (const char* name : {"has_hook", "has_terminal", "has_input", "is_held"}) {
    is_one = is_one && may_have(name, [](const json& value) { return value.is_boolean(); });
  }
  if (!is_one) return input_error("not a submission: {}", text);
  Submission submission = object.get<Submission>();
  if (submission.failed.size() > submission.retries) {
    return input_error("not a submission: {}", text);
  }
  if (object.contains("after")) {
    auto after = parse_after(object["after"]);
    if (!after) return input_error("{}: {}", after.error().message, text);
    submission.after = *std::move(after);
  }
  if (object.contains("limits")) {
    submission.limits.resources = object["limits"].get<std::vector<std::uint64_t>>();
    submission.limits.nice = std::clamp(object.value("nice", 0), -20, 19);
  }
  const auto priority = priority_named(object.value("priority", "normal"));
  const auto notify = notify_named(object.value("notify", "never"));
  if (!priority || !notify) return input_error("not a submission: {}", text);
  submission.priority = *priority;
  submission.notify = *notify;
  submission.is_current = object.contains("priority");
  submission.idle_end = {object.value("idle_end_ms", std::int64_t{0})};
  submission.gpu_memory_mb = object.value("gpu_memory_mb", std::uint32_t{0});
  submission.memory_mb = object.value("memory_mb", std::uint32_t{0});
  submission.cpu_milli = object.value("cpu_milli", std::uint32_t{0});
  submission.limit = {object.value("limit_ms", std::int64_t{0})};
  return submission;
}

}  // namespace fairlead
