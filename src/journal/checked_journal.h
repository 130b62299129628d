// Journals from disk, for sinks that rely on what their records say.
//
// Metrics and what is built on them require the records of one run, and abort or worse where they
// get anything else. A file may hold anything. Between the two stands this sink: it passes records
// on as long as one run can have written them, as the audit and the header's own rules say, and
// nothing after the first that is wrong. O(slices) per record.
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
  // What the audit does not look at; empty: nothing is wrong.
  std::string wrong(const Record& record);
  std::string wrong_in_header(const Record& record);
  std::string wrong_in_note(const Note& note) const;

  RecordSink& next_;
  Audit audit_;
  std::string problem_;
  bool begun_ = false;   // the first record came
  bool events_ = false;  // the header is over
  std::size_t jobs_ = 0;
  std::size_t types_ = 0;
  std::size_t users_ = 0;
  std::size_t nodes_ = 0;
  std::size_t racks_ = 0;
};

// Passes the records of the journal at `path` to `next`. Errors: as read_journal, and a journal
// that no run can have written. After an error `next` may have seen its beginning.
Status read_checked_journal(const std::filesystem::path& path, RecordSink& next);

}  // namespace fairlead
