// Why jobs of a finished run waited, for people and for scripts (docs/formats.md has the keys).
#pragma once

#include "fairlead/replay/why.h"
#include "fairlead/report/table.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace fairlead {

// At most a screen: the causes, and the longest of its waits in few pieces.
std::string why_job_text(const JobWhy& why, TextStyle style);
std::string why_job_json(const JobWhy& why);
// Lines of at most 80 columns: the causes of all waiting, the longest waits, and who starved.
std::string why_run_text(const RunWhy& why, TextStyle style);
std::string why_run_json(const RunWhy& why);

// For both: the causes of some waiting, those with the most time first.
std::string causes_text(const CauseTimes& causes, TextStyle style);
nlohmann::json causes_json(const CauseTimes& causes);

}  // namespace fairlead
