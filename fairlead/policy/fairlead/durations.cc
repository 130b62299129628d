#include "fairlead/policy/fairlead/durations.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fairlead {

// Returns the start of each part, and at last the end of the last one.
const std::array<double, Durations::kParts + 1>& Durations::bounds_s() {
  static const auto kBounds = [] {
    constexpr double kFirstS = 60;
    const double root = std::sqrt(2.0);
    std::array<double, kParts + 1> bounds{};
    for (std::size_t part = 0; part < kParts; ++part) {
      bounds[part + 1] = part == 0 ? kFirstS : bounds[part] * root;
    }
    return bounds;
  }();
  return kBounds;
}

std::size_t Durations::part_of(double s) {
  const auto& bounds = bounds_s();
  const auto next = std::upper_bound(bounds.begin() + 1, bounds.end() - 1, s);
  return static_cast<std::size_t>(next - bounds.begin()) - 1;
}

void Durations::end(Ran job) {
  const std::size_t part = part_of(job.s);
  ++ended_[part];
  ++ended_of_.grow_to(job.user)[part];
}

void Durations::watch(std::span<const Ran> jobs) {
  Counts alive{};
  std::ranges::fill(alive_of_, Counts{});
  for (const Ran& job : jobs) {
    const std::size_t part = part_of(job.s);
    ++alive[part];
    ++alive_of_.grow_to(job.user)[part];
  }
  ended_of_.resize(std::max(ended_of_.size(), alive_of_.size()));
  hazards_of_.resize(alive_of_.size());
  unstarted_left_s_.resize(alive_of_.size());

  Hazards guess;
  guess.fill(1 - std::sqrt(0.5));
  const Hazards of_all = hazards(ended_, alive, guess);
  for (UserId user : ids<UserId>(alive_of_.size())) {
    if (alive_of_[user] == Counts{}) continue;
    hazards_of_[user] = hazards(ended_of_[user], alive_of_[user], of_all);
    unstarted_left_s_[user] = index_s({user, 0});
  }
}

// A job in a part has not lived through it yet, so it counts for earlier parts only.
Durations::Hazards Durations::hazards(const Counts& ended, const Counts& alive,
                                      const Hazards& prior) {
  Hazards hazards{};
  double beyond = 0;
  for (std::size_t part = kParts; part-- > 0;) {
    const double ends = ended[part];
    hazards[part] = (ends + kPrior * prior[part]) / (beyond + ends + kPrior);
    beyond += ends + alive[part];
  }
  return hazards;
}

double Durations::left_s(Ran job) const {
  return job.s == 0 ? unstarted_left_s_[job.user] : index_s(job);
}

// Returns the inverse of the Gittins index.
double Durations::index_s(Ran job) const {
  const auto& bounds = bounds_s();
  const Hazards& hazards = hazards_of_[job.user];
  double least = std::numeric_limits<double>::infinity();
  double alive = 1;
  double ended = 0;
  double spent_s = 0;
  double from_s = std::min(job.s, bounds[kParts - 1]);
  for (std::size_t part = part_of(from_s); part < kParts; ++part) {
    const double to_s = bounds[part + 1];
    const double ends = hazards[part] * (to_s - from_s) / (to_s - bounds[part]);
    spent_s += alive * (to_s - from_s) * (1 - ends / 2);
    ended += alive * ends;
    alive *= 1 - ends;
    least = std::min(least, spent_s / ended);
    from_s = to_s;
  }
  return least;
}

void Durations::fields(Archive& archive) {
  if (archive.reads()) *this = Durations();
  archive(ended_of_);
  if (!archive.reads()) return;
  for (const Counts& ended : ended_of_) {
    for (std::size_t part = 0; part < kParts; ++part) ended_[part] += ended[part];
  }
}

}  // namespace fairlead
