// BestFill: finds the items that fill a bin with the largest total weight (0/1 knapsack, exactly).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

class BestFill {
 public:
  struct Item {
    std::uint32_t size = 1;  // at least 1
    double weight = 0;       // above 0
  };

  static constexpr std::uint32_t kRoomMax = 64;

  // Finds the best set. To be called before the functions below. If several sets are best, the one
  // with the earlier items is found. REQUIRES: room <= kRoomMax. O(items x room). Allocates only if
  // there are more items than ever before.
  void fill(std::span<const Item> items, std::uint32_t room);
  // The weight of the best set in a part of the room. REQUIRES: `room` is at most the room of
  // fill().
  double worth(std::uint32_t room) const { return worth_[room]; }
  // Returns true for each item of the best set for all of the room. Valid until the next fill().
  std::span<const char> chosen() const { return chosen_; }

 private:
  static std::uint64_t bit(std::uint32_t room) { return std::uint64_t{1} << (room - 1); }
  void find_chosen(std::span<const Item> items, std::uint32_t room);

  std::vector<double> worth_;         // by room
  std::vector<std::uint64_t> takes_;  // by item, bits by room: the item is in the best set of the
                                      // items up to it
  std::vector<char> chosen_;          // by item
};

}  // namespace fairlead
