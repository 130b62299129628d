// The data of a report as JSON: what web/src/schema.ts describes, which is the contract with the
// page.
//
// Runs are written one after another, so that only one needs to be in memory. Equal runs give equal
// text.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/report/json_text.h"
#include "fairlead/report/run_records.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace fairlead {

class ReportData {
 public:
  // `title`: name of the folder that is reported on. The text goes to `output`.
  ReportData(JsonText::Output output, std::string_view title);

  struct Run {
    std::string folder;  // relative to the folder that is reported on
    std::string label;
    const nlohmann::json& summary;  // summary.json
    const RunRecords& records;
  };
  // Error: the run is of another cluster or other jobs than the first.
  Status add(const Run& run);
  // REQUIRES: called once, last, after at least one run.
  void finish();

 private:
  void begin_with(const RunRecords& records, std::string_view cluster_and_jobs);
  void write_outcome(const RunRecords& records);
  void write_load(const RunLoad& load);
  void write_holds(const HoldPieces& holds);
  void write_notes(const NoteSample& notes);
  std::int64_t row_of(JobId job) const;

  JsonText json_;
  std::string first_run_;               // what all runs must have in common
  Time origin_;                         // the first submission
  std::vector<JobId> jobs_;             // of each row
  IdVector<JobId, std::int64_t> rows_;  // -1: never submitted
};

}  // namespace fairlead
