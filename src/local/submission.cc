#include "fairlead/local/submission.h"

#include <nlohmann/json.hpp>

namespace fairlead {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Submission, uid, gid, command, environment, folder, umask,
                                   processes)

std::string submission_text(const Submission& submission) {
  // Bytes that are no UTF-8 came as JSON before, so there are none.
  return nlohmann::json(submission).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Submission> parse_submission(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  Submission submission;
  const auto numbers = {"uid", "gid", "umask", "processes"};
  const auto lists = {"command", "environment"};
  bool is_one = json.is_object() && json.contains("folder") && json["folder"].is_string();
  for (const char* name : numbers)
    is_one = is_one && json.contains(name) && json[name].is_number_unsigned();
  for (const char* name : lists) {
    is_one = is_one && json.contains(name) && json[name].is_array();
    if (is_one) {
      for (const auto& text_of : json[name]) is_one = is_one && text_of.is_string();
    }
  }
  if (!is_one || json["command"].empty()) return input_error("not a submission: {}", text);
  json.get_to(submission);
  return submission;
}

}  // namespace fairlead
