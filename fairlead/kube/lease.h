// Which of several schedulers leads: the holder of a Lease (coordination.k8s.io/v1).
//
// A state machine on the events of a KubeDoor: hand it every event, and wake it at wake_at(). Times
// are those of the door's monotonic clock; what others wrote of the calendar is never compared with
// ours. A lease that another holds is free once it has not changed for its 15 s, as we saw it. Ours is
// renewed every 2 s; where that fails for 10 s, counted from when the last renewal that succeeded was
// sent, we lead no more, 5 s before another may. Writes carry the version that was read, so of two
// that take it at once one is refused.
//
// A write whose answer is lost may have taken effect; the lease is read again before the next.
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
  std::string identity;  // no two schedulers have the same: host and a random number
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

  // True if the event was its own.
  bool handle(const KubeEvent& event);
  // To be called at wake_at() or later; before it does nothing. The first call begins.
  void wake();
  Time wake_at() const { return wake_at_; }

  // True at `now` if no other can lead then. To be asked before every write.
  bool is_leader(Time now) const { return renewed_ && now < *renewed_ + settings_.renew_limit; }
  // Lets another take it at once, where we hold it: the call that does it, or 0. It holds no more
  // and is not taken again. The answer need not be waited for.
  CallId release();

  // Who holds it, as far as is known; empty: none.
  const std::string& holder() const { return holder_; }
  // How often it changed hands, as the lease itself counts.
  std::int64_t transitions() const { return integer_at(lease_, {"spec", "leaseTransitions"}); }
  // Why the last try failed; empty: it did not.
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
  // The next try is one interval after the last began.
  void plan();

  KubeDoor& door_;
  LeaseSettings settings_;
  Asked asked_ = Asked::kNothing;
  CallId call_ = 0;
  Time asked_at_;
  Time wake_at_;
  Json lease_;            // as it was last seen; null: never, or it is not there
  bool is_read_ = false;  // lease_ is what is there, as far as we know
  std::string holder_;
  Time changed_at_;  // when it was first seen as it is
  std::optional<Time> renewed_;
  bool is_released_ = false;
  std::string trouble_;
};

}  // namespace fairlead
