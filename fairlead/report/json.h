// The JSON files of a run as text: sorted keys, two blanks of indent, a newline at the end.
//
// Numbers are the shortest decimals that read back as the same double, except that ratios and means are rounded to nine
// decimals. A figure that is undefined for a run is null.
#pragma once

#include "fairlead/metrics/figures.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

// The program's version, "0.1.0".
std::string_view version();
// The commit from which the program was built; empty: unknown.
std::string_view commit();
// "fairlead 0.1.0", with the commit in parentheses if it is known.
std::string program_text(std::string_view version, std::string_view commit);
// The compiler that built it, "GCC 12.2.0".
std::string_view compiler();

// Facts that only this execution of the run knows.
struct RunStats {
  double wall_s = 0;
  std::int64_t decisions = 0;
  std::int64_t events = 0;
  double peak_rss_mb = 0;
  std::string inputs_hash;   // names the inputs of the run; empty: unknown
  std::string command = {};  // for a shell; empty: unknown
};

nlohmann::json to_json_value(const Summary& summary);
// summary.json.
std::string summary_json(const Summary& summary);
// Returns the place of a figure in summary.json, or in an object of the same form; creates it if it is missing.
nlohmann::json& figure_at(nlohmann::json& summary, const Figure& figure);
// Returns a figure of summary.json, read back; none if it is null or missing there.
std::optional<double> figure_in(const nlohmann::json& summary, const Figure& figure);
// run.json.
std::string run_json(const RunStats& stats);
// Returns any value as a file's text; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& value);

}  // namespace fairlead
