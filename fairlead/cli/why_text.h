// Explains why jobs of a finished run waited, for people and for scripts (keys: docs/formats.md).
#pragma once

#include "fairlead/replay/why.h"
#include "fairlead/report/table.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace fairlead {

// Returns at most a screen: the causes, and its longest waits in few pieces.
std::string why_job_text(const JobWhy& why, TextStyle style);
std::string why_job_json(const JobWhy& why);
// Returns lines of at most 80 columns: the causes of all waits, the longest waits, and starved jobs.
std::string why_run_text(const RunWhy& why, TextStyle style);
std::string why_run_json(const RunWhy& why);

// Returns a list of causes, largest time first; used in both texts.
std::string causes_text(const CauseTimes& causes, TextStyle style);
nlohmann::json causes_json(const CauseTimes& causes);

}  // namespace fairlead
