#include "fairlead/base/units.h"

#include <cmath>

namespace fairlead {

Rate Rate::of(double speed) {
  FL_CHECK(speed >= 0 && speed <= 1e6, "speed {}", speed);
  return {std::llround(speed * static_cast<double>(kOne))};
}

}  // namespace fairlead
