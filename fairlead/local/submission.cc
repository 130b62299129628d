#include "fairlead/local/submission.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {

using nlohmann::json;

// Fields added since the first version have a default.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Submission, uid, gid, command, environment, folder,
                                                umask, processes, retries, failed, has_hook, lost,
                                                has_terminal, has_input)

namespace {

bool is_list(const json& value, bool (json::*is_element)() const noexcept) {
  return value.is_array() &&
         std::ranges::all_of(value, [&](const json& element) { return (element.*is_element)(); });
}

}  // namespace

std::string submission_file(JobId job) { return fmt::format("jobs/{}", job.row()); }

std::string submission_text(const Submission& submission) {
  json text = submission;
  text["limit_ms"] = submission.limit.ms;
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
                may_have("lost", is_text) && !object["command"].empty();
  for (const char* name : {"uid", "gid", "umask", "processes"}) {
    is_one = is_one && has(name, is_number);
  }
  for (const char* name : {"limit_ms", "retries"}) is_one = is_one && may_have(name, is_number);
  for (const char* name : {"has_hook", "has_terminal", "has_input"}) {
    is_one = is_one && may_have(name, [](const json& value) { return value.is_boolean(); });
  }
  if (!is_one) return input_error("not a submission: {}", text);
  Submission submission = object.get<Submission>();
  if (submission.failed.size() > submission.retries) {
    return input_error("not a submission: {}", text);
  }
  submission.limit = {object.value("limit_ms", std::int64_t{0})};
  return submission;
}

}  // namespace fairlead
