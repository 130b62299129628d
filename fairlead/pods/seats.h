// Which pod of a gang goes to which of its places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace fairlead {

// Returns the place of each pod, by index. A place has room for `room` pods. Each pod gets a place that suits it if that is
// possible for all; neighbours get one place, as far as that goes. Otherwise some get places that do not suit, or
// room.size() if no place has room. O(pods^2 x places), but O(pods x places) if all places suit all pods.
std::vector<std::size_t> seats(
    std::size_t pods, const std::vector<std::uint32_t>& room,
    const std::function<bool(std::size_t pod, std::size_t place)>& suits);

}  // namespace fairlead
