// How unreliable a simulated world is (sim/unreliable.h).
#pragma once

#include "fairlead/base/units.h"

#include <string>
#include <string_view>

namespace fairlead {

struct UnreliableOptions {
  Duration late_max;            // delay of each notice and of each timer, uniform
  Duration start_max;           // that a start takes beyond its overhead, uniform
  Duration stop_max;            // that a stop takes, uniform
  double repeat = 0;            // probability that a notice comes a second time
  double shuffle = 0;           // probability that the events of an instant come in any order
  double start_fails = 0;       // probability
  double stop_fails = 0;        // probability; it is tried again within stop_max
  double gpu_losses_per_h = 0;  // losses of some GPUs of one node
  Duration gpus_back_max = seconds(600);
  double operators_per_h = 0;  // how often users and operators cancel, hold, release, cordon, ...
  double users_come = 0;       // 1: users are announced with their first jobs
  Time calm_from = Time::never();

  bool any() const;
};

// Parses "late_s:2/start_fails:0.1/calm_s:3600". Options not named keep their values. False: an unknown name, or an
// invalid value.
bool parse_unreliable(std::string_view text, UnreliableOptions& options);
// Returns the same text for options: those that differ from the defaults.
std::string unreliable_text(const UnreliableOptions& options);
}  // namespace fairlead
