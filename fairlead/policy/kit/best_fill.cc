#include "fairlead/policy/kit/best_fill.h"

#include "fairlead/base/check.h"

namespace fairlead {

void BestFill::fill(std::span<const Item> items, std::uint32_t room) {
  FL_DCHECK(room <= kRoomMax);
  worth_.assign(std::size_t{room} + 1, 0);
  takes_.clear();
  for (const Item& item : items) {
    std::uint64_t takes = 0;
    for (std::uint32_t left = room; left >= item.size; --left) {
      const double with = worth_[left - item.size] + item.weight;
      if (with <= worth_[left]) continue;
      worth_[left] = with;
      takes |= bit(left);
    }
    takes_.push_back(takes);
  }
  find_chosen(items, room);
}

void BestFill::find_chosen(std::span<const Item> items, std::uint32_t room) {
  chosen_.assign(items.size(), 0);
  for (std::size_t i = items.size(); room > 0 && i-- > 0;) {
    if ((takes_[i] & bit(room)) == 0) continue;
    chosen_[i] = 1;
    room -= items[i].size;
  }
}

}  // namespace fairlead
