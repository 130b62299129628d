#include "fairlead/explain/present_waits.h"

#include "fairlead/base/overloaded.h"

namespace fairlead {

void PresentWaits::on(const Record& record) {
  std::visit(Overloaded{
                 [&](const record::Arrived& what) { begin(what.asked.job, record.t, {}); },
                 [&](const record::Stop& what) { begin(what.job, record.t, what.cause); },
                 [&](const OneOf<record::Evicted, record::StartFailed, record::Released,
                                 record::Place> auto& what) { begin(what.job, record.t, {}); },
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& what) {
                   jobs_.erase(what.job);
                 },
                 [&](const Note& what) {
                   const NoteFields fields = fields_of(what);
                   if (fields.job.is_none()) {
                     users_[fields.user].add(what);
                     return;
                   }
                   Job& job = jobs_[fields.job];
                   job.notes[what.index()] = fields;
                   if (const auto* node = std::get_if<note::NodeTimer>(&what))
                     job.timer = record.t + node->left;
                   if (const auto* rack = std::get_if<note::RackTimer>(&what))
                     job.timer = record.t + rack->left;
                 },
                 [](const auto&) {},
             },
             record.what);
}

void PresentWaits::begin(JobId job, Time since, std::optional<StopCause> stop) {
  Job& present = jobs_[job];
  present.since = since;
  present.stop = stop;
  present.timer = {};
}

const PresentWaits::Job* PresentWaits::find(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

const UserNotes& PresentWaits::of(UserId user) const {
  static const UserNotes kNone;
  const auto found = users_.find(user);
  return found == users_.end() ? kNone : found->second;
}

}  // namespace fairlead
