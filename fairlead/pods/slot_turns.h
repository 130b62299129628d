// Decides whether a gang on nodes with slots (slots.h) keeps its place during other gangs' turns, or goes.
//
// A stopped gang rests in place if it can. It goes, which frees its slots, if its agents do not freeze it in time or if
// it runs elsewhere next. A resting gang also goes if another gang needs its slot or its memory.
#pragma once

#include "fairlead/pods/cluster_view.h"
#include "fairlead/pods/gang.h"
#include "fairlead/pods/gang_book.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

// Longest time from the request to freeze a gang to the report of its agents; after it the gang goes (chosen).
constexpr Duration kRestLimit = seconds(30);

class SlotTurns {
 public:
  // Returns true if the engine wants the gang to run.
  using Runs = std::function<bool(const std::string& key)>;

  // REQUIRES: the arguments outlive this.
  SlotTurns(const ClusterView& cluster, const GangBook& gangs) : cluster_(cluster), gangs_(gangs) {}

  // Called for a gang that the engine placed at `where`. Returns true if it is resident there. A gang that is resident
  // elsewhere goes.
  bool runs_in_place(const PodGang& gang, const std::vector<GangPlace>& where);
  // Returns true if the gang can keep its place while it does not run. A gang that must not be stopped is never
  // frozen; if it is frozen already, it stays frozen.
  bool may_rest(const GangBook::Entry& gang) const;
  // Called for a gang that must not run. Returns kRests if it rests in place, kWaits if its agents must still freeze
  // it, kLeaves if it cannot rest.
  enum class Rest : std::uint8_t { kLeaves, kWaits, kRests };
  Rest rest(const GangBook::Entry& gang, Time now);
  // Called for a gang that has left its place, or has ended.
  void forget(const std::string& key);

  // Returns true if the GPUs of the node at `where` run no other gang, and each has a slot left.
  bool fits(const PodGang& gang, const std::vector<GangPlace>& where,
            const std::string& node) const;
  // Sends away gangs that rest on GPUs at `where` without a free slot, one per node at a time. Returns their keys.
  std::vector<std::string> make_room(const PodGang& gang, const std::vector<GangPlace>& where,
                                     const Runs& runs);
  // Sends away the gang that has rested longest on those GPUs of the node. Returns its key; nothing if another gang is
  // already going, or none can go.
  std::optional<std::string> send_away(const std::string& node, std::uint64_t gpus,
                                       const Runs& runs);
  bool goes(const std::string& key) const { return going_.contains(key); }

  // Returns the gangs that their agents did not freeze in time.
  std::vector<std::string> late(Time now) const;
  // Returns when the next such limit passes; Time::never(): there is none.
  Time due() const;

 private:
  const ClusterView& cluster_;
  const GangBook& gangs_;
  std::set<std::string> going_;           // keys
  std::map<std::string, Time> rest_due_;  // time limit of its agents to freeze it, by key
};

}  // namespace fairlead
