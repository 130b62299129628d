// The files of a run: summary.json, run.json, jobs.csv, users.csv and timeline.csv in one folder.
//
// docs/formats.md describes every key and column. summary.json has no wall-clock time and nothing about the machine, so
// equal runs have equal files; run.json has the rest.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/metrics/metrics.h"
#include "fairlead/report/json.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// A subfolder of a result folder: files of a run that is in progress, or was killed.
constexpr std::string_view kUnfinished = ".unfinished";

// A folder with all results or none: until keep(), its destructor removes the files added, and the folders that it had
// to create if they are empty. If staged, it keeps the results of an earlier run until the new ones are complete.
class ResultFolder {
 public:
  // Creates the folder where it is missing. Errors (Error::Kind::kRun): it cannot be created, or is
  // a file.
  static Result<ResultFolder> open(const std::filesystem::path& path);
  ResultFolder(ResultFolder&&) = default;
  ResultFolder& operator=(ResultFolder&&) = delete;
  ~ResultFolder();

  // Returns the path to which the file is written.
  std::filesystem::path file(std::string_view name) const { return written_ / name; }
  // Has files written into a folder inside it, kUnfinished, until keep() moves them. Removes that folder if a killed
  // run left it. REQUIRES: no file was added; no other process writes here. Error: it cannot be created.
  Status stage();
  // Adds a file that exists now to the results.
  void add(std::string_view name) { added_.push_back(file(name)); }
  // Commits `output`, which was created as file(name), and adds it.
  Status add(OutputFile output, std::string_view name);
  // Called when the results are complete. Staged files replace earlier ones. An earlier summary.json is replaced first,
  // and the new one is moved last, so where it exists the results are from one run. Error: a file cannot be moved.
  Status keep();

 private:
  explicit ResultFolder(std::filesystem::path path) : path_(std::move(path)), written_(path_) {}
  bool is_staged() const { return written_ != path_; }

  std::filesystem::path path_;
  std::filesystem::path written_;               // path_, or the folder inside it
  std::vector<std::filesystem::path> created_;  // outermost first
  std::vector<std::filesystem::path> added_;
};

// Adds every file to `folder`, summary.json last: where it is, the results are complete.
Status write_results(ResultFolder& folder, const Metrics& metrics, const RunFacts& facts,
                     const Summary& summary, const RunStats& stats);
// Adds run.json and summary.json alone.
Status write_summary(ResultFolder& folder, const Summary& summary, const RunStats& stats);

// Returns summary.json of a result folder. Error (Error::Kind::kRun): there is none, or it is damaged.
Result<nlohmann::json> read_summary(const std::filesystem::path& folder);
// Returns run.json of a result folder; an empty object if there is none, or it is damaged.
nlohmann::json read_run_facts(const std::filesystem::path& folder);
// Returns summary.json beside the journal at `path`; an empty object if there is none. Error: it is damaged.
Result<nlohmann::json> summary_beside(const std::filesystem::path& path);
// Error: the journal at `path`, which ended like this, does not belong to `summary`.
Status check_journal_of(const nlohmann::json& summary, const std::filesystem::path& path,
                        const JournalEnd& end);

}  // namespace fairlead
