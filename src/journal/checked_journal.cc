#include "fairlead/journal/checked_journal.h"

#include "fairlead/model/workload.h"

namespace fairlead {

void CheckedJournal::on(const Record& record) {
  if (!problem_.empty()) return;
  audit_.on(record);
  if (!audit_.problems().empty()) {
    problem_ = audit_.problems().front();
  } else {
    problem_ = wrong(record);
  }
  begun_ = true;
  if (problem_.empty()) next_.on(record);
}

Status CheckedJournal::status() const {
  if (!problem_.empty()) return input_error("no run can have written this: {}", problem_);
  if (!audit_.passed()) return input_error("the journal has no end");
  return {};
}

std::string CheckedJournal::wrong(const Record& record) {
  switch (record.kind) {
    case RecordKind::kRun:
    case RecordKind::kUser:
    case RecordKind::kNode:
      return wrong_in_header(record);
    case RecordKind::kArrived:
    case RecordKind::kRejected:
    case RecordKind::kUnsubmitted:
      if (record.job.row() >= jobs_) return fmt::format("job {} of {}", record.job.row(), jobs_);
      if (record.user.is_none() || record.user.row() >= users_) {
        return fmt::format("job {} is of user {} of {}", record.job.row(), record.user.row(),
                           users_);
      }
      break;
    case RecordKind::kPlace:
      if (record.gang.empty()) return fmt::format("job {} is placed nowhere", record.job.row());
      break;
    case RecordKind::kNote:
      return wrong_in_note(record.note);
    default:
      break;
  }
  events_ = true;
  return {};
}

std::string CheckedJournal::wrong_in_header(const Record& record) {
  constexpr std::size_t kLabels = 4;
  if (events_) return "a part of the header comes late";
  if (record.kind == RecordKind::kRun) {
    if (begun_) return "a second run begins";
    if (record.names.size() < kLabels || record.names.size() > kLabels + kGpuTypesMax) {
      return fmt::format("the run has {} names", record.names.size());
    }
    jobs_ = record.count;
    types_ = record.names.size() - kLabels;
    return {};
  }
  if (record.kind == RecordKind::kUser) {
    if (record.user.row() != users_) return fmt::format("user {} is out of order", users_);
    if (record.tickets < 1 || record.tickets > kTicketsMax) {
      return fmt::format("user {} has {} tickets", users_, record.tickets);
    }
    ++users_;
    return {};
  }
  // Racks are numbered in the order of their nodes.
  if (record.type.row() >= types_ || record.host.is_none() || record.rack.row() > racks_) {
    return fmt::format("node {} has type {}, host {}, rack {}", nodes_, record.type.row(),
                       record.host.row(), record.rack.row());
  }
  if (record.rack.row() == racks_) ++racks_;
  ++nodes_;
  return {};
}

std::string CheckedJournal::wrong_in_note(const Note& note) const {
  const auto fits = [](auto id, std::size_t size) { return id.is_none() || id.row() < size; };
  if (fits(note.job, jobs_) && fits(note.user, users_) && fits(note.other_user, users_) &&
      fits(note.type, types_)) {
    return {};
  }
  return "a note about something that does not exist";
}

Status read_checked_journal(const std::filesystem::path& path, RecordSink& next) {
  CheckedJournal checked(next);
  FL_TRY(read_journal(path, checked));
  if (const Status status = checked.status(); !status) {
    return input_error("{}: {}", path.string(), status.error().message);
  }
  return {};
}

}  // namespace fairlead
