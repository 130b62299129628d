// BestFill: which items fill a bin so that their weights add up to the most (0/1 knapsack, exactly).
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

  // REQUIRED before all below. REQUIRES: room <= kRoomMax. Of equally good sets the one with the
  // earlier items is found. O(items x room). Allocates nothing once it has had as many.
  void fill(std::span<const Item> items, std::uint32_t room);
  // The weight of the best set in a part of the room. REQUIRES: `room` is not above that of fill().
  double worth(std::uint32_t room) const { return worth_[room]; }
  // Whether each item belongs to the best set for all of the room. Valid until the next fill().
  std::span<const char> chosen() const { return chosen_; }

 private:
  static std::uint64_t bit(std::uint32_t room) { return std::uint64_t{1} << (room - 1); }
  void find_chosen(std::span<const Item> items, std::uint32_t room);

  std::vector<double> worth_;         // by room
  std::vector<std::uint64_t> takes_;  // by item, bits by room: the best of those up to it has it
  std::vector<char> chosen_;          // by item
};

}  // namespace fairlead
