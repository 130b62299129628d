#include "policy/tiling.h"

#include "model/cluster.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace fairlead {
namespace {

double area_of(std::span<const Need> needs, std::uint32_t gpus) {
  double area = 0;
  for (Need need : needs) area += std::min(need.gpus, gpus) * need.time;
  return area;
}

// Gangs that are powers of two nest: two lanes of one width are one of the next. `lanes` of a width
// are needed on average, `most` at most at once, and one of them for `longest` of the time. Only an
// odd number at once wastes half a lane of the next width, so as long as more can run at once than
// do on average, even numbers of them take turns.
double time_by_lanes(std::span<const Need> needs, std::uint32_t gpus) {
  struct Width {
    double lanes = 0;
    double most = 0;
    double longest = 0;
  };
  std::array<Width, std::bit_width(kNodeGpusMax)> widths{};
  for (Need need : needs) {
    Width& width = widths[static_cast<std::size_t>(std::countr_zero(std::min(need.gpus, gpus)))];
    width.lanes += need.time;
    width.most += 1;
    width.longest = std::max(width.longest, need.time);
  }
  Width all = widths[0];
  for (std::size_t i = 1; (std::uint32_t{1} << i) <= gpus; ++i) {
    const double below = 2 * std::floor(all.lanes / 2);
    const double above = std::min(below + 2, all.most);
    const double turns = above > below ? (all.lanes - below) / (above - below) : 0;
    const double paired = below / 2 + turns * (std::ceil(above / 2) - below / 2);
    all.lanes = widths[i].lanes + std::max(paired, all.longest);
    all.most = widths[i].most + std::ceil(all.most / 2);
    all.longest = std::max(widths[i].longest, all.longest);
  }
  return all.lanes;
}

// [n]: how long gangs of more than n GPUs need the server; those above half of it run one by one.
std::array<double, kNodeGpusMax + 1> time_of_larger(std::span<const Need> needs,
                                                    std::uint32_t gpus) {
  std::array<double, kNodeGpusMax + 1> larger{};
  for (Need need : needs) {
    const std::uint32_t size = std::min(need.gpus, gpus);
    if (2 * size > gpus) larger[size - 1] += need.time;
  }
  for (std::uint32_t size = gpus; size > gpus / 2 + 1; --size) larger[size - 2] += larger[size - 1];
  return larger;
}

// By area, and by who cannot run beside whom.
double time_at_least(std::span<const Need> needs, std::uint32_t gpus) {
  const auto larger = time_of_larger(needs, gpus);
  double time = std::max(area_of(needs, gpus) / gpus, larger[gpus / 2]);
  for (Need need : needs) {
    if (2 * need.gpus <= gpus) time = std::max(time, need.time + larger[gpus - need.gpus]);
  }
  return time;
}

// GPUs due to small gangs while a gang that leaves no room for them has its turn, and to large
// gangs while other large ones have theirs.
double conflict_of(std::span<const Need> needs, std::uint32_t gpus) {
  const auto longer = time_of_larger(needs, gpus);
  const double big_time = longer[gpus / 2];
  double conflict = 0;
  for (Need need : needs) {
    const std::uint32_t size = std::min(need.gpus, gpus);
    if (2 * size > gpus) {
      if (big_time > 1) conflict += size * need.time * (1 - 1 / big_time);
    } else {
      conflict += size * std::clamp(need.time + longer[gpus - size] - 1, 0.0, need.time);
    }
  }
  return conflict;
}

}  // namespace

double time_needed(std::span<const Need> needs, std::uint32_t gpus) {
  const bool nests = std::has_single_bit(gpus) && std::ranges::all_of(needs, [&](Need need) {
                       return std::has_single_bit(std::min(need.gpus, gpus));
                     });
  return nests ? time_by_lanes(needs, gpus) : time_at_least(needs, gpus);
}

double unserved(std::span<const Need> needs, std::uint32_t gpus) {
  const double area = area_of(needs, gpus);
  const double time = time_needed(needs, gpus);
  const double by_time = time <= 1 ? 0 : area * (1 - 1 / time);
  return (by_time + std::max(area - gpus, conflict_of(needs, gpus))) / 2;
}

}  // namespace fairlead
