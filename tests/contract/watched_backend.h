// A backend between the engine and another one, which it watches: every promise of engine/backend.h
// that the other breaks is noted, in words.
//
//  1. wait() returns no instant beyond `until`, and instants never decrease.
//  2. The jobs of a batch are the jobs of its arrivals, in order.
//  3. An event about a run is about one that a step began.
//  4. A run is reported as started, or its start as failed, not both; and it ends.
//  5. A stop is reported as carried out in the end. (4 and 5: if the backend reports steps.)
//  6. Nothing is left when the world reports its end.
#pragma once

#include "fairlead/engine/backend.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

class WatchedBackend : public Backend {
 public:
  // `inner` must outlive it.
  explicit WatchedBackend(Backend& inner) : inner_(inner) {}

  bool repeats_steps = false;  // has all steps carried out twice
  // Looks at the world itself after each wait(); returns an error there, or an empty text.
  std::function<std::string()> look{};

  Batch wait(Time until, bool awaited) override;
  std::span<const SpeedChange> expect(Time now, std::span<Step> steps) override {
    return inner_.expect(now, steps);
  }
  void carry_out(Time now, std::span<const Step> steps) override;
  bool reports_steps() const override { return inner_.reports_steps(); }
  const ExactWork* exact_work() const override { return inner_.exact_work(); }

  const std::vector<std::string>& broken() const { return broken_; }
  bool has_ended() const { return has_ended_; }

 private:
  struct JobRun {
    bool is_stopped = false;  // by a step
    std::set<EventKind> told{};
  };

  void check(bool is_kept, std::string_view promise, JobId job = {}, RunId run = 0);
  void watch(const Event& event);
  void watch_end();

  Backend& inner_;
  Time last_;
  bool has_ended_ = false;
  std::map<std::pair<JobId, RunId>, JobRun> runs_;
  std::vector<std::string> broken_;
};

}  // namespace fairlead
