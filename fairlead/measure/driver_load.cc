#include "fairlead/measure/driver_load.h"

namespace fairlead {

void LookMean::add(int value) {
  if (value < 0) return;
  sum_ += value;
  ++looks_;
}

std::optional<double> LookMean::value() const {
  if (looks_ == 0) return std::nullopt;
  return static_cast<double>(sum_) / static_cast<double>(looks_);
}

}  // namespace fairlead
