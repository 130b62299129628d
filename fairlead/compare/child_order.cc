#include "fairlead/compare/child_order.h"

#include <algorithm>

namespace fairlead {

ChildOrder::ChildOrder(std::span<const std::size_t> kinds) : kind_of_(kinds.begin(), kinds.end()) {
  for (std::size_t row = 0; row < kinds.size(); ++row) {
    if (kinds[row] >= kinds_.size()) kinds_.resize(kinds[row] + 1);
    kinds_[kinds[row]].rows.push_back(row);
  }
}

bool ChildOrder::is_before(const Kind& a, const Kind& b) {
  if (a.has_ended != b.has_ended) return b.has_ended;
  return a.has_ended ? a.longest_s > b.longest_s : a.started < b.started;
}

std::optional<std::size_t> ChildOrder::next() {
  Kind* first = nullptr;
  for (Kind& kind : kinds_) {
    if (kind.started == kind.rows.size()) continue;
    if (first == nullptr || is_before(kind, *first)) first = &kind;
  }
  if (first == nullptr) return std::nullopt;
  return first->rows[first->started++];
}

void ChildOrder::ended(std::size_t row, double length_s) {
  Kind& kind = kinds_[kind_of_[row]];
  kind.has_ended = true;
  kind.longest_s = std::max(kind.longest_s, length_s);
}

}  // namespace fairlead
