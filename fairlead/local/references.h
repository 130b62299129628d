// The speeds that are 1: for each user's model the first one that was measured, per GPU. Policies compare speeds
// relative to it. Sensors count in other units, so each sensor has its own, and the hook has two: steps and samples. The
// file is references.json in the daemon's folder.
#pragma once

#include "fairlead/io/io.h"
#include "fairlead/measure/sensors.h"

#include <map>
#include <string>

namespace fairlead {

class References {
 public:
  // Reads the file. `io` must outlive it.
  explicit References(Io& io);

  // Returns the speed of a task relative to the reference, per GPU. A sensor that measures its first speed gets a
  // reference by which it agrees with the task's other sensors. REQUIRES: the sensors have a speed.
  double relative(const std::string& model, const Sensors& sensors, double gpus);

 private:
  static std::string key(const std::string& model, const Sensors::Speed& speed);

  Io& io_;
  std::map<std::string, double> all_;  // units per second and GPU
};

}  // namespace fairlead
