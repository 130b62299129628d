#include "fairlead/solve/filling.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace fairlead {

void ProgressiveFilling::fill(double amount, std::span<const double> weights,
                              std::span<const double> caps, std::span<double> shares) {
  FL_CHECK(weights.size() == caps.size() && caps.size() == shares.size(), "{} {} {}",
           weights.size(), caps.size(), shares.size());
  FL_CHECK(amount >= 0, "amount {}", amount);
  claims_.clear();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    FL_DCHECK(weights[i] > 0 && caps[i] >= 0, "weight {}, cap {}", weights[i], caps[i]);
    claims_.push_back({caps[i] / weights[i], weights[i], caps[i], i});
  }
  // Claims that compare equal are alike, so the result does not depend on the order of the input.
  std::ranges::sort(claims_, {}, [](const Claim& claim) {
    return std::tuple(claim.need, claim.weight, claim.cap);
  });
  // Sums from the end, so that no weight is ever subtracted: `shares` has the weight of the claims
  // from each one on until the share takes its place.
  double weight = 0;
  for (std::size_t i = claims_.size(); i-- > 0;) {
    weight += claims_[i].weight;
    shares[claims_[i].row] = weight;
  }
  double left = amount;
  double level = std::numeric_limits<double>::infinity();
  for (const Claim& claim : claims_) {
    const double level_now = left / shares[claim.row];
    if (level_now < claim.need) {
      level = level_now;
      break;
    }
    left = std::max(0.0, left - claim.cap);
  }
  FL_DCHECK(left >= 0 && level >= 0, "{} left at level {}", left, level);
  for (const Claim& claim : claims_) {
    shares[claim.row] = claim.need <= level ? claim.cap : std::min(claim.cap, level * claim.weight);
  }
}

}  // namespace fairlead
