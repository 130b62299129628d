#include "fairlead/io/sim_faults.h"

namespace fairlead {
namespace {

constexpr std::int64_t kFullMs = 120'000;

}  // namespace

Duration FaultInjector::upto(std::int64_t ms) {
  return {static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(ms) + 1))};
}

bool FaultInjector::happens(double SimFaults::*fault) {
  const double rate = rates_.*fault;
  const bool is_so = rate > 0 && rng_.uniform() < rate;
  if (is_so) calls_.note(fault);
  return is_so;
}

void FaultInjector::fill_disk() {
  if (full_until_ <= agenda_.now()) disk_.set_full(false);
  if (!happens(&SimFaults::disk_full)) return;
  const bool is_moment = rng_.below(2) == 0;  // only this call fails
  full_until_ = agenda_.now() + (is_moment ? Duration{} : upto(kFullMs));
  was_full_ = true;
  trace_.add([] { return "the disk is full"; });
  disk_.set_full(true);
}

void FaultInjector::stop() {
  rates_ = {};
  full_until_ = agenda_.now();
  disk_.set_full(false);
  machine_.end_foreign();
}

}  // namespace fairlead
