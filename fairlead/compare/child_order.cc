#include "fairlead/compare/child_order.h"

#include <algorithm>
#include <limits>

namespace fairlead {

ChildOrder::ChildOrder(std::span<const std::size_t> kinds)
    : kind_of_(kinds.begin(), kinds.end()), start_s_(kinds.size()) {
  for (std::size_t row = 0; row < kinds.size(); ++row) {
    if (kinds[row] >= kinds_.size()) kinds_.resize(kinds[row] + 1);
    kinds_[kinds[row]].rows.push_back(row);
  }
}

double ChildOrder::length_s(const Kind& kind, double now_s) {
  if (kind.started == 0) return std::numeric_limits<double>::infinity();
  return kind.has_ended ? kind.longest_s : now_s - kind.first_start_s;
}

std::optional<std::size_t> ChildOrder::next(double now_s) {
  Kind* longest = nullptr;
  for (Kind& kind : kinds_) {
    if (kind.started == kind.rows.size()) continue;
    if (longest == nullptr || length_s(kind, now_s) > length_s(*longest, now_s)) longest = &kind;
  }
  if (longest == nullptr) return std::nullopt;
  const std::size_t row = longest->rows[longest->started];
  if (longest->started++ == 0) longest->first_start_s = now_s;
  start_s_[row] = now_s;
  return row;
}

void ChildOrder::ended(std::size_t row, double now_s) {
  Kind& kind = kinds_[kind_of_[row]];
  kind.has_ended = true;
  kind.longest_s = std::max(kind.longest_s, now_s - start_s_[row]);
}

}  // namespace fairlead
