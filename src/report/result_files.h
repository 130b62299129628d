// The files of a run: summary.json, run.json, jobs.csv, users.csv and timeline.csv in one folder.
//
// docs/formats.md describes every key and column. summary.json says nothing about wall-clock time
// or the machine, so equal runs have equal files; run.json has what is left.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/metrics/metrics.h"
#include "fairlead/report/json.h"

#include <filesystem>
#include <string>
#include <vector>

namespace fairlead {

// A folder for results that holds all of them or none: until keep(), its destructor removes the
// files added, and the folders that it had to create if they are empty.
class ResultFolder {
 public:
  // Creates the folder where it is missing. Errors (Error::Kind::kRun): it cannot be created, or is
  // a file.
  static Result<ResultFolder> open(const std::filesystem::path& path);
  ResultFolder(ResultFolder&&) = default;
  ResultFolder& operator=(ResultFolder&&) = delete;
  ~ResultFolder();

  std::filesystem::path file(std::string_view name) const { return path_ / name; }
  // Takes the mark of completeness, summary.json, from an earlier run's results, before the first
  // of its files is replaced.
  void begin_replacing() const;
  // The file exists now and is part of the results.
  void add(std::string_view name) { added_.push_back(file(name)); }
  // Commits `output`, which was created as file(name), and adds it.
  Status add(OutputFile output, std::string_view name);
  void keep() { created_.clear(), added_.clear(); }

 private:
  explicit ResultFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  std::vector<std::filesystem::path> created_;  // outermost first
  std::vector<std::filesystem::path> added_;
};

// Adds every file to `folder`, summary.json last: where it is, the results are complete.
Status write_results(ResultFolder& folder, const Metrics& metrics, const RunFacts& facts,
                     const Summary& summary, const RunStats& stats);

// summary.json of a result folder. Error (Error::Kind::kRun): there is none, or it is damaged.
Result<nlohmann::json> read_summary(const std::filesystem::path& folder);
// summary.json beside the journal at `path`; an empty object where there is none. Error: it is
// damaged.
Result<nlohmann::json> summary_beside(const std::filesystem::path& path);
// Error: the journal at `path`, which ended like this, is not the one that `summary` tells of.
Status check_journal_of(const nlohmann::json& summary, const std::filesystem::path& path,
                        const JournalEnd& end);

}  // namespace fairlead
