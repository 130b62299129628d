#include "fairlead/policy/gandiva_fair/tiling.h"

#include <algorithm>

namespace fairlead {

void Tiling::add(Need need) {
  const std::uint32_t gpus = std::min(need.gpus, gpus_);
  Size& size = sizes_[gpus];
  ++size.count;
  size.time += need.time;
  size.longest = std::max(size.longest, need.time);
  area_ += gpus * need.time;
}

// [n]: how long gangs of more than n GPUs need the node; gangs above half of it run one by one.
void Tiling::find_larger(std::array<double, kNodeGpusMax + 1>& larger) const {
  larger[gpus_] = 0;
  for (std::uint32_t size = gpus_; size > 0; --size) {
    larger[size - 1] = larger[size] + (2 * size > gpus_ ? sizes_[size].time : 0);
  }
}

// The bound by area, and by gangs that cannot run beside each other.
double Tiling::time_needed() const {
  if (gpus_ == 0) return area_ > 0 ? 2 : 0;
  std::array<double, kNodeGpusMax + 1> larger;
  find_larger(larger);
  double time = std::max(area_ / gpus_, larger[gpus_ / 2]);
  for (std::uint32_t size = 1; 2 * size <= gpus_; ++size) {
    if (sizes_[size].count > 0) {
      time = std::max(time, sizes_[size].longest + larger[gpus_ - size]);
    }
  }
  return time;
}

// Returns the sum of two conflicts: GPUs due to small gangs during the turn of a gang that leaves
// no room for them, and GPUs due to large gangs during the turns of other large ones. Gangs of one
// size count as equally long, except the longest.
double Tiling::conflict() const {
  std::array<double, kNodeGpusMax + 1> larger;
  find_larger(larger);
  const double big_time = larger[gpus_ / 2];
  double conflict = 0;
  for (std::uint32_t size = 1; size <= gpus_; ++size) {
    const Size& all = sizes_[size];
    if (all.count == 0) continue;
    if (2 * size > gpus_) {
      if (big_time > 1) conflict += size * all.time * (1 - 1 / big_time);
    } else {
      const double taken = larger[gpus_ - size];
      const int others = all.count - 1;
      const double mean = others > 0 ? (all.time - all.longest) / others : 0;
      conflict += size * (std::clamp(all.longest + taken - 1, 0.0, all.longest) +
                          others * std::clamp(mean + taken - 1, 0.0, std::max(mean, 0.0)));
    }
  }
  return conflict;
}

double Tiling::unserved() const {
  const double time = time_needed();
  const double by_time = time <= 1 ? 0 : area_ * (1 - 1 / time);
  return (by_time + std::max(area_ - gpus_, conflict())) / 2;
}

double Tiling::unserved_with(Need need) {
  Size& size = sizes_[std::min(need.gpus, gpus_)];
  const Size before = size;
  const double area = area_;
  add(need);
  const double missing = unserved();
  size = before;
  area_ = area;
  return missing;
}

double Tiling::least_unserved(double area) const {
  constexpr double kRounding = 1e-9;
  return std::max(0.0, area - gpus_) - kRounding;
}

double Tiling::least_unserved_with(Need need) const {
  return least_unserved(area_ + area_of(need));
}

double Tiling::least_unserved_without(Need need) const {
  return least_unserved(area_ - area_of(need));
}

double time_needed(std::span<const Need> needs, std::uint32_t gpus) {
  Tiling tiling(gpus);
  for (Need need : needs) tiling.add(need);
  return tiling.time_needed();
}

double unserved(std::span<const Need> needs, std::uint32_t gpus) {
  Tiling tiling(gpus);
  for (Need need : needs) tiling.add(need);
  return tiling.unserved();
}

}  // namespace fairlead
