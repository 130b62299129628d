// Leader election among schedulers: the leader holds a Lease (coordination.k8s.io/v1).
//
// A state machine on the events of a KubeDoor: hand it every event, and wake it at wake_at(). Times are those on the
// door's monotonic clock; calendar times written by others are never compared with ours. A lease of another holder is
// free once we saw no change for its 15 s. Ours is renewed every 2 s. If that fails for 10 s, counted from the
// sending of the last successful renewal, we stop leading, 5 s before another holder may start. Writes carry the
// version that was read, so of two that take it at once one is refused.
//
// A write with a lost answer may have taken effect; the lease is read again before the next write.
#pragma once

#include "fairlead/kube/door.h"
#include "fairlead/kube/json.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace fairlead {

struct LeaseSettings {
  std::string name_space = "default";
  std::string name = "fairlead";
  std::string identity;  // unique to the scheduler: host and a random number
  Duration length = seconds(15);
  Duration renew_limit = seconds(10);
  Duration retry = seconds(2);
};

class Lease {
 public:
  // REQUIRES: the door outlives this; retry < renew_limit < length.
  Lease(KubeDoor& door, LeaseSettings settings);
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Returns true if the event was its own.
  bool handle(const KubeEvent& event);
  // Call it at wake_at() or later; earlier calls do nothing. The first call starts the election.
  void wake();
  Time wake_at() const { return wake_at_; }

  // True at `now` if no other can lead then. To be asked before every write.
  bool is_leader(Time now) const { return renewed_ && now < *renewed_ + settings_.renew_limit; }
  // Releases the lease if we hold it, so that another client can take it immediately. Returns the call, or 0. The lease
  // is not taken again. The answer need not be waited for.
  CallId release();

  // Returns the holder, as far as known; empty: none.
  const std::string& holder() const { return holder_; }
  // Returns the number of changes of the holder, as counted by the lease itself.
  std::int64_t transitions() const { return integer_at(lease_, {"spec", "leaseTransitions"}); }
  // Returns why the last try failed; empty: it did not.
  const std::string& trouble() const { return trouble_; }

 private:
  enum class Asked : std::uint8_t { kNothing, kRead, kCreate, kReplace };

  void ask(Asked asked, KubeRequest&& request);
  void read();
  void take();
  void handle_read(const KubeEvent& event);
  void handle_write(const KubeEvent& event);
  void saw(Json&& lease);
  bool is_ours() const { return holder_ == settings_.identity; }
  bool is_free(Time now) const;
  Json wanted(const std::string& holder) const;
  std::string path() const;
  // Plans the next try one interval after the start of the last.
  void plan();

  KubeDoor& door_;
  LeaseSettings settings_;
  Asked asked_ = Asked::kNothing;
  CallId call_ = 0;
  Time asked_at_;
  Time wake_at_;
  Json lease_;            // as last seen; null: never, or it does not exist
  bool is_read_ = false;  // lease_ is the server's version, as far as we know
  std::string holder_;
  Time changed_at_;  // when its current state was first seen
  std::optional<Time> renewed_;
  bool is_released_ = false;
  std::string trouble_;
};

}  // namespace fairlead
