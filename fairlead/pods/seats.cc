#include "fairlead/pods/seats.h"

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// Augmenting paths (Kuhn's algorithm), with places for several pods.
class Seating {
 public:
  Seating(std::size_t pods, const std::vector<std::uint32_t>& room,
          const std::function<bool(std::size_t, std::size_t)>& suits)
      : room_(room), suits_(suits), at_(pods, room.size()), sitting_(room.size()) {}

  // Gives the pod a place, for which others may move. Returns false if there is none.
  bool seat(std::size_t pod) {
    std::vector<bool> tried(room_.size());
    return seat(pod, tried);
  }
  // Gives the pod any place with room.
  void seat_anywhere(std::size_t pod) {
    for (std::size_t place = 0; place < room_.size(); ++place) {
      if (sitting_[place].size() < room_[place]) return put(pod, place);
    }
  }
  const std::vector<std::size_t>& at() const { return at_; }

 private:
  void put(std::size_t pod, std::size_t place) {
    at_[pod] = place;
    sitting_[place].push_back(pod);
  }
  bool seat(std::size_t pod, std::vector<bool>& tried) {
    for (std::size_t place = 0; place < room_.size(); ++place) {
      if (tried[place] || room_[place] == 0 || !suits_(pod, place)) continue;
      if (sitting_[place].size() < room_[place]) {
        put(pod, place);
        return true;
      }
    }
    for (std::size_t place = 0; place < room_.size(); ++place) {
      if (tried[place] || room_[place] == 0 || !suits_(pod, place)) continue;
      tried[place] = true;
      for (const std::size_t other : std::vector(sitting_[place])) {
        if (!seat(other, tried)) continue;
        std::erase(sitting_[place], other);
        put(pod, place);
        return true;
      }
    }
    return false;
  }

  const std::vector<std::uint32_t>& room_;
  const std::function<bool(std::size_t, std::size_t)>& suits_;
  std::vector<std::size_t> at_;
  std::vector<std::vector<std::size_t>> sitting_;  // pods, by place
};

}  // namespace

std::vector<std::size_t> seats(
    std::size_t pods, const std::vector<std::uint32_t>& room,
    const std::function<bool(std::size_t pod, std::size_t place)>& suits) {
  Seating seating(pods, room, suits);
  std::vector<std::size_t> left;
  for (std::size_t pod = 0; pod < pods; ++pod) {
    if (!seating.seat(pod)) left.push_back(pod);
  }
  for (const std::size_t pod : left) seating.seat_anywhere(pod);
  return seating.at();
}

}  // namespace fairlead
