#include "fairlead/torture/coverage.h"

#include <algorithm>
#include <array>

namespace fairlead {
namespace {

constexpr std::array<std::string_view, Coverage::kStates> kStateNames = {
    "beginning", "going on", "idle", "waiting", "running", "starting", "stopping"};

}  // namespace

Coverage::State Coverage::state_of(const Tables& tables) {
  if (!tables.stopping.empty()) return State::kStopping;
  const std::span<const JobId> running = tables.running.members();
  if (std::ranges::any_of(running, [&](JobId job) { return tables.jobs.is_starting(job); })) {
    return State::kStarting;
  }
  if (!running.empty()) return State::kRunning;
  const bool none = tables.waiting.members().empty() && tables.held_until.empty();
  return none ? State::kIdle : State::kWaiting;
}

bool Coverage::can_strike(std::size_t fault, std::size_t pair) {
  return (calls_of_fault(fault) >> (pair % kIoCalls) & 1) != 0;
}

void Coverage::note(State state, IoCall call, std::size_t fault) {
  const std::size_t at = pair(state, call);
  if (can_strike(fault, at)) met_.set(at * kCoveredFaults + fault);
}

void Coverage::add(const Coverage& other) {
  came_ |= other.came_;
  met_ |= other.met_;
}

std::size_t Coverage::possible() const { return met() + missed().size(); }

std::vector<std::string> Coverage::missed() const {
  std::vector<std::string> missed;
  for (std::size_t at = 0; at < kPairs; ++at) {
    if (!came_[at]) continue;
    for (std::size_t fault = 0; fault < kCoveredFaults; ++fault) {
      if (!can_strike(fault, at) || met_[at * kCoveredFaults + fault]) continue;
      missed.push_back(fmt::format("{} at {}, {}", covered_fault_name(fault),
                                   io_call_names()[at % kIoCalls], kStateNames[at / kIoCalls]));
    }
  }
  std::ranges::sort(missed);
  return missed;
}

std::optional<Coverage> Coverage::parse(std::string_view text) {
  Coverage coverage;
  const bool is_right = text.size() == coverage.came_.size() + coverage.met_.size() &&
                        text.find_first_not_of("01") == std::string_view::npos;
  if (!is_right) return std::nullopt;
  coverage.came_ = std::bitset<kPairs>(std::string(text.substr(0, kPairs)));
  coverage.met_ = std::bitset<kPairs * kCoveredFaults>(std::string(text.substr(kPairs)));
  return coverage;
}

}  // namespace fairlead
