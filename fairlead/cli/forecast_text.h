// Forecasts (fairlead/forecast) as text, JSON and result folders.
#pragma once

#include "fairlead/forecast/what_if.h"
#include "fairlead/report/table.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fairlead {

// Returns the assumptions about a daemon's queue: a line for each guess.
std::string guesses_text(const std::vector<TimeLeft>& guesses);

std::string forecast_json(const Forecast& forecast, const JobAnswer& job);
// Returns a sentence. `subject`: "job 12". Clock times are in the time zone TZ.
std::string forecast_text(const Forecast& forecast, std::string_view subject,
                          std::int64_t now_unix_ms);

// Returns tables with a row for each policy and each user. REQUIRES: at least one outcome.
std::string whatif_tables(const std::vector<WhatIf>& outcomes, TextStyle style);
// Returns the assumptions about a daemon's queue, which follow the tables.
std::string whatif_notes(const std::vector<TimeLeft>& guesses);
std::string whatif_json(const QueueNow& queue, const std::vector<WhatIf>& outcomes);

// Writes the results of a run for each policy to folders of `out`, in the layout of `fairlead compare`.
Status write_whatif(const QueueNow& queue, const std::vector<std::string>& policies,
                    const std::filesystem::path& out);

}  // namespace fairlead
