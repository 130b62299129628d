// Calls to the API server about gangs: the calls in flight, and the gangs that have to wait.
//
//   One gang at a time    Its next acts are sent once all of its last ones are answered.
//   All gangs             At most kCallsMax calls are in flight, except for the last gang's; other gangs queue.
//   After a failure       The gang pauses (backoff.h), and at least as long as the server asks for.
#pragma once

#include "fairlead/kube/door.h"
#include "fairlead/pods/gang.h"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

// More calls than these would only queue at the server, with the renewal of the Lease behind them (chosen).
constexpr std::size_t kCallsMax = 100;

class GangCalls {
 public:
  // An answer to a call about a gang.
  struct Answer {
    std::string gang;  // its key
    GangAct act;
    std::string version;  // version of the pod, when the call was sent
    int status = 0;       // HTTP's; 0: none came
    std::string text;     // the body
    bool is_ok() const { return status >= 200 && status < 300; }
  };

  // `may_write`: false keeps calls back, because another scheduler leads or the view of the cluster is old.
  // REQUIRES: the door outlives this.
  GangCalls(KubeDoor& door, std::function<bool()> may_write)
      : door_(door), may_write_(std::move(may_write)) {}

  // Sends the acts. Returns false if the gang has to wait; due() or take_queued() then names it again.
  // REQUIRES: the pods of the acts are the gang's.
  bool send(const PodGang& gang, const std::vector<GangAct>& acts);
  // Returns the answer; nothing if the event is none to a call of this class.
  std::optional<Answer> take(const KubeEvent& event);
  // Keeps calls about the gang back until then.
  void pause(const std::string& gang, Time until) { gangs_[gang].paused_until = until; }
  // Forgets the gang. Its calls in flight are still answered.
  void forget(const std::string& gang) { gangs_.erase(gang); }

  bool is_calling(const std::string& gang) const;
  bool empty() const { return calls_.empty(); }
  // Returns when a gang's pause ends or a queued gang may call; Time::never(): not before an answer.
  Time due() const;
  // Ends the pauses that are over, and returns their gangs.
  std::vector<std::string> take_due(Time now);
  // Removes as many gangs from the queue as may call now, and returns them.
  std::vector<std::string> take_queued();

 private:
  struct Call {
    std::string gang;
    GangAct act;
    std::string version;
  };
  struct Gang {
    std::set<CallId> calls;             // on their way
    Time paused_until = Time::never();  // never: it is not paused
    int failures = 0;                   // in a row
    bool is_queued = false;
  };
  KubeRequest request(const PodGang& gang, const GangAct& act) const;

  KubeDoor& door_;
  std::function<bool()> may_write_;
  std::map<CallId, Call> calls_;
  std::map<std::string, Gang> gangs_;  // by key
  std::deque<std::string> queue_;      // keys
};

// Returns true if the act, once it takes effect, lets its pod use GPUs.
bool lets_run(GangAct::Kind kind);

}  // namespace fairlead
