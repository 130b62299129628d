// Journals from disk, for sinks that require consistent records.
//
// Metrics and their users require the records of one run and check it only by FL_CHECK, but a file may
// contain anything. This sink stands between the two. It passes records on as long as one run can have
// written them, by the audit's rules and the rules for names, and stops at the first wrong record.
// Groups, users, nodes and jobs may come at any time. A record may name only objects that came before it;
// only Ignored may name anything. O(slices) per record.
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
  // Error: the first wrong record, or that the end record is missing.
  Status status() const;

 private:
  // Returns an error that the audit does not look for; empty: there is none.
  std::string wrong(const Record& record);
  std::string wrong_in(const record::Run& run);
  std::string wrong_in(const record::Group& group);
  std::string wrong_in(const record::User& user);
  std::string wrong_in(const record::Node& node);
  std::string wrong_in(const record::Tickets& tickets) const;
  std::string wrong_in(const record::Forgotten& forgotten) const;
  std::string wrong_in(const record::Charged& charged) const;
  std::string wrong_in_job(const JobSpec& asked);
  std::string wrong_in_note(const Note& note) const;

  RecordSink& next_;
  Audit audit_;
  std::string problem_;
  bool begun_ = false;    // the first record came
  std::size_t jobs_ = 0;  // jobs in the trace, or that have arrived since
  std::size_t types_ = 0;
  std::size_t groups_ = 0;
  std::size_t users_ = 0;
  std::size_t nodes_ = 0;
  std::size_t racks_ = 0;
};

// Passes the records of the journal at `path` to `next`. Errors: those of read_finished_journal, and a
// journal that no run can have written. After an error `next` may have received the first records.
Result<JournalEnd> read_checked_journal(const std::filesystem::path& path, RecordSink& next);

}  // namespace fairlead
