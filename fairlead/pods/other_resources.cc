#include "fairlead/pods/other_resources.h"

namespace fairlead {
namespace {

// Returns a number, not 0, of the needs: equal for equal needs, also of another process (FNV-1a).
std::uint32_t kind_of(const Resources& needs) {
  std::uint32_t kind = 0x811c9dc5U;
  const auto mix = [&](unsigned char byte) { kind = (kind ^ byte) * 0x01000193U; };
  for (const auto& [name, amount] : needs) {
    for (const char letter : name) mix(static_cast<unsigned char>(letter));
    for (int shift = 0; shift < 64; shift += 8) mix(static_cast<unsigned char>(amount >> shift));
  }
  return kind | 1U;
}

std::int64_t amount_of(const Resources& amounts, const std::string& name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

}  // namespace

void OtherResources::set_needs(JobId job, const Resources& each) {
  std::vector<TaskNeed> needs;
  for (const auto& [name, amount] : each) {
    if (amount <= 0) continue;
    const auto [row, is_new] = rows_.try_emplace(name, static_cast<std::uint32_t>(rows_.size()));
    has_news_ |= is_new;
    needs.push_back({row->second, amount});
  }
  limits_.set_needs(job, kind_of(each), std::move(needs));
  needs_[job] = each;
}

void OtherResources::forget(JobId job) {
  limits_.forget(job);
  needs_.erase(job);
}

const Resources& OtherResources::needs_of(JobId job) const {
  static const Resources kNone;
  const auto found = needs_.find(job);
  return found == needs_.end() ? kNone : found->second;
}

bool OtherResources::set_offer(NodeId node, const Amounts& amounts) {
  std::vector<std::int64_t> offer(rows_.size());
  for (const auto& [name, row] : rows_) {
    offer[row] = offered(amounts.allocatable, name) + amount_of(amounts.known, name) -
                 amount_of(amounts.used, name);
  }
  std::vector<std::int64_t>& before = offers_.grow_to(node);
  bool is_more = false;
  for (std::size_t row = 0; row < offer.size(); ++row) {
    is_more |= offer[row] > (row < before.size() ? before[row] : 0);
  }
  before = offer;
  limits_.set_offer(node, std::move(offer));
  return is_more;
}

}  // namespace fairlead
