// Saving and loading of Homes.
#include "fairlead/policy/gandiva_fair/homes.h"

namespace fairlead {

void Homes::fields(Archive& archive) {
  archive(next_order_, nodes_, contended_);
  if (archive.reads()) list_contended(archive);
  archive(spreads_);
  archive_residences(archive);
}

// Computes the slots of contended nodes from the list.
void Homes::list_contended(Archive& archive) {
  slot_.resize(nodes_.size());
  for (std::size_t slot = 0; slot < contended_.size(); ++slot) {
    const NodeId node = contended_[slot];
    archive.expect(nodes_.has(node));
    if (!archive.ok()) return;
    nodes_[node].is_contended = true;
    slot_[node] = static_cast<std::uint32_t>(slot);
  }
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
