// Journals from disk, for sinks that require consistent records.
//
// Metrics and what is built on them require the records of one run and check it only by FL_CHECK,
// while a file may hold anything. This sink stands between the two: it passes records on as long as
// one run can have written them, by the rules of the audit and of what they name, and nothing after
// the first that is wrong. Groups, users, nodes and jobs may come at any time; what a record names is there
// by then, but for Ignored, which may be about anything. O(slices) per record.
#pragma once

#include "fairlead/journal/audit.h"

#include <cstddef>
#include <filesystem>
#include <string>

namespace fairlead {

class CheckedJournal : public RecordSink {
 public:
  // `next` must outlive it.
  explicit CheckedJournal(RecordSink& next) : next_(next) {}

  void on(const Record& record) override;
  // Error: what was wrong first, or that the end is missing.
  Status status() const;

 private:
  // What the audit does not check; empty: nothing is wrong.
  std::string wrong(const Record& record);
  std::string wrong_in(const record::Run& run);
  std::string wrong_in(const record::Group& group);
  std::string wrong_in(const record::User& user);
  std::string wrong_in(const record::Node& node);
  std::string wrong_in(const record::Tickets& tickets) const;
  std::string wrong_in_job(const JobSpec& asked);
  std::string wrong_in_note(const Note& note) const;

  RecordSink& next_;
  Audit audit_;
  std::string problem_;
  bool begun_ = false;    // the first record came
  std::size_t jobs_ = 0;  // of the trace, or that have come since
  std::size_t types_ = 0;
  std::size_t groups_ = 0;
  std::size_t users_ = 0;
  std::size_t nodes_ = 0;
  std::size_t racks_ = 0;
};

// Passes the records of the journal at `path` to `next`. Errors: as
// read_finished_journal, and a journal that no run can have written. After an error `next` may have
// seen its beginning.
Result<JournalEnd> read_checked_journal(const std::filesystem::path& path, RecordSink& next);

}  // namespace fairlead
