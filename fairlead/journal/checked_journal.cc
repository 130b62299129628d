#include "fairlead/journal/checked_journal.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/model/workload.h"

#include <algorithm>

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
  return std::visit(
      Overloaded{
          [&](const OneOf<record::Run, record::Group, record::User, record::Node,
                          record::Tickets> auto& what) { return wrong_in(what); },
          [&](const OneOf<record::Arrived, record::Rejected, record::Unsubmitted> auto& job) {
            return wrong_in_job(job.asked);
          },
          [](const record::Place& place) -> std::string {
            if (!place.gang.empty()) return {};
            return fmt::format("job {} is placed nowhere", place.job.row());
          },
          [&](const OneOf<record::Forgotten, record::Charged> auto& what) {
            return wrong_in(what);
          },
          [&](const Note& note) { return wrong_in_note(note); },
          [](const auto&) { return std::string(); },
      },
      record.what);
}

std::string CheckedJournal::wrong_in(const record::Run& run) {
  if (begun_) return "a second run begins";
  jobs_ = run.jobs;
  types_ = run.gpu_types.size();
  if (types_ > kGpuTypesMax) return fmt::format("the run has {} GPU types", types_);
  return {};
}

std::string CheckedJournal::wrong_in(const record::Group& group) {
  if (group.group.row() != groups_) return fmt::format("group {} is out of order", groups_);
  if (group.tickets < 1 || group.tickets > kTicketsMax || group.quota < 0) {
    return fmt::format("group {} has {} tickets and a quota of {}", groups_, group.tickets,
                       group.quota);
  }
  ++groups_;
  return {};
}

std::string CheckedJournal::wrong_in(const record::User& user) {
  if (user.user.row() != users_) return fmt::format("user {} is out of order", users_);
  if (user.tickets < 1 || user.tickets > kTicketsMax) {
    return fmt::format("user {} has {} tickets", users_, user.tickets);
  }
  if (!user.group.is_none() && user.group.row() >= groups_) {
    return fmt::format("user {} is of group {} of {}", users_, user.group.row(), groups_);
  }
  ++users_;
  return {};
}

std::string CheckedJournal::wrong_in(const record::Node& node) {
  // Racks are numbered in the order of their nodes.
  if (node.type.row() >= types_ || node.host.is_none() || node.rack.row() > racks_) {
    return fmt::format("node {} has type {}, host {}, rack {}", nodes_, node.type.row(),
                       node.host.row(), node.rack.row());
  }
  if (node.rack.row() == racks_) ++racks_;
  ++nodes_;
  return {};
}

std::string CheckedJournal::wrong_in(const record::Tickets& tickets) const {
  if (tickets.user.row() < users_ && tickets.tickets >= 1 && tickets.tickets <= kTicketsMax) {
    return {};
  }
  return fmt::format("user {} of {} has {} tickets from now on", tickets.user.row(), users_,
                     tickets.tickets);
}

std::string CheckedJournal::wrong_in(const record::Forgotten& forgotten) const {
  if (!forgotten.user.is_none() && forgotten.user.row() < users_) return {};
  return fmt::format("speeds of user {} of {} are forgotten", forgotten.user.row(), users_);
}

std::string CheckedJournal::wrong_in(const record::Charged& charged) const {
  if (!charged.user.is_none() && charged.user.row() < users_ && !charged.node.is_none() &&
      charged.node.row() < nodes_)
    return {};
  return fmt::format("user {} of {} is charged for GPU time on node {} of {}", charged.user.row(),
                     users_, charged.node.row(), nodes_);
}

std::string CheckedJournal::wrong_in_job(const JobSpec& asked) {
  jobs_ = std::max(jobs_, asked.job.row() + std::size_t{1});  // the audit has seen it
  if (asked.user.is_none() || asked.user.row() >= users_) {
    return fmt::format("job {} is of user {} of {}", asked.job.row(), asked.user.row(), users_);
  }
  if (asked.gpus == 0)
    return fmt::format("job {} needs no GPU, and only the daemon reads journals with such jobs",
                       asked.job.row());
  return {};
}

std::string CheckedJournal::wrong_in_note(const Note& note) const {
  const auto fits = [](auto id, std::size_t size) { return id.is_none() || id.row() < size; };
  const NoteFields fields = fields_of(note);
  const auto* made_room = std::get_if<note::MadeRoom>(&note);
  if (fits(fields.job, jobs_) && fits(fields.user, users_) && fits(fields.other_user, users_) &&
      fits(fields.type, types_) && (made_room == nullptr || fits(made_room->stopped_for, jobs_))) {
    return {};
  }
  return "a note about something that does not exist";
}

Result<JournalEnd> read_checked_journal(const std::filesystem::path& path, RecordSink& next) {
  CheckedJournal checked(next);
  FL_TRY_ASSIGN(end, read_finished_journal(path, checked));
  if (const Status status = checked.status(); !status) {
    return input_error("{}: {}", path.string(), status.error().message);
  }
  return end;
}

}  // namespace fairlead
