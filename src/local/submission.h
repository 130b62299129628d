// What a user hands in to be run: all that the engine need not know of a job.
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct Submission {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=value"
  std::string folder;                    // where it runs
  std::uint32_t umask = 022;
  std::uint32_t processes = 1;
};

// As one line of JSON, and back. Error: it is not what submission_text() writes.
std::string submission_text(const Submission& submission);
Result<Submission> parse_submission(std::string_view text);

}  // namespace fairlead
