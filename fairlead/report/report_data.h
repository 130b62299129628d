// The data of a report as JSON. web/src/schema.ts describes it, and is the contract with the page.
//
// Runs are written one after another, so that only one needs to be in memory. Equal runs give equal
// text.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/report/json_text.h"
#include "fairlead/report/run_records.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The reasons why some jobs waited: pieces of their waits, by job and time.
struct ReportedWaits {
  struct Piece {
    JobId job;
    Time from;
    Time to;
    std::size_t cause = 0;   // the cause of most of its time
    double part = 1;         // fraction of its time with this cause
    double free = 0;         // mean number of free GPUs that the job could use
    std::uint32_t hole = 0;  // the largest number of these on one node
    JobId other{};           // the job that GPUs were reserved for or that went first, or none
  };
  std::vector<std::string_view> causes;  // in words
  std::vector<Piece> pieces;
};

class ReportData {
 public:
  // `title`: name of the reported folder. The text goes to `output`.
  ReportData(JsonText::Output output, std::string_view title);

  struct Run {
    std::string folder;  // relative to the reported folder
    std::string label;
    const nlohmann::json& summary;  // summary.json
    const RunRecords& records;
    const ReportedWaits* waits = nullptr;  // null: the page omits them
    std::string inputs_hash = {};          // in run.json; empty: unknown
    std::string command = {};              // the same
    std::string program = {};              // program_text of run.json; empty: unknown
  };
  // Error: the run is of another cluster or other jobs than the first.
  Status add(const Run& run);
  // `points`, `answer`: those of ReportedRuns. REQUIRES: called once, last, after at least one run.
  void finish(std::string_view points = {}, std::string_view answer = {});

 private:
  void begin_with(const RunRecords& records, std::string_view cluster_and_jobs);
  void write_outcome(const RunRecords& records);
  void write_load(const RunLoad& load);
  void write_network(const RunRecords& records, const RunLoad& load);
  void write_run_pieces(const RunPieces& run_pieces);
  void write_notes(const NoteSample& notes);
  void write_waits(const ReportedWaits& waits);
  std::int64_t row_of(JobId job) const;

  JsonText json_;
  std::string first_run_;               // must be equal in all runs
  Time origin_;                         // the first submission
  std::vector<JobId> jobs_;             // job of each row
  IdVector<JobId, std::int64_t> rows_;  // -1: never submitted
};

}  // namespace fairlead
