// Saving and loading of Homes.
#include "fairlead/policy/gandiva_fair/homes.h"

namespace fairlead {

void Homes::fields(Archive& archive) {
  archive(next_order_, nodes_, contended_);
  // The slots of contended nodes follow from the list.
  if (archive.reads()) slot_.resize(nodes_.size());
  for (std::size_t slot = 0; archive.reads() && slot < contended_.size(); ++slot) {
    const NodeId node = contended_[slot];
    archive.expect(nodes_.has(node));
    if (!archive.ok()) break;
    nodes_[node].is_contended = true;
    slot_[node] = static_cast<std::uint32_t>(slot);
  }
  archive(spreads_);
  archive_residences(archive);
}

void Homes::archive_residences(Archive& archive) {
  const Entitlements& due = accounts_.due();
  const std::size_t lists = due.users() * due.types();
  if (archive.reads()) kept_ = JobLists(lists);
  for (std::size_t list = 0; list < lists && archive.ok(); ++list) {
    archive.ids(kept_.jobs(list), [&](JobId job) {
      Residence& residence = residences_.grow_to(job);
      archive(residence);
      if (!archive.reads()) return;
      kept_.push_back(list, job);
      if (residence.is_spread() && !residence.runs) ++spread_waits_;
    });
  }
}

}  // namespace fairlead
