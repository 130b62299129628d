// Which gangs on nodes with slots (slots.h) keep their places while others have their turns there, and which go.
//
// A gang that is not to run rests in place if it can. It goes, which frees its slots, if its agents do not freeze it
// in time, if it is to run elsewhere, or if another gang needs a slot or the memory of one that rests.
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

// Time from the wish that a gang rest in place to the report of its agents; after that it goes (chosen).
constexpr Duration kRestLimit = seconds(30);

class SlotTurns {
 public:
  // Whether the gang of that key is to run.
  using Runs = std::function<bool(const std::string& key)>;

  // What is passed must outlive it.
  SlotTurns(const ClusterView& cluster, const GangBook& gangs) : cluster_(cluster), gangs_(gangs) {}

  // Called for a gang that is to run at `where`. Returns true if it is there already. A gang that is resident elsewhere
  // goes.
  bool runs_in_place(const PodGang& gang, const std::vector<GangPlace>& where);
  // Returns true if the gang can keep its place while it does not run. A gang that is not to be stopped is not
  // frozen; one that is frozen and is not to be stopped stays so.
  bool may_rest(const GangBook::Entry& gang) const;
  // Called for a gang that is not to run. Returns kRests if it rests in place, kWaits if its agents are to freeze it,
  // kLeaves if it cannot rest.
  enum class Rest : std::uint8_t { kLeaves, kWaits, kRests };
  Rest rest(const GangBook::Entry& gang, Time now);
  // Called for a gang that has left its place, or is over.
  void forget(const std::string& key);

  // Returns true if the GPUs of the node at `where` run no other gang, and each has a slot left.
  bool fits(const PodGang& gang, const std::vector<GangPlace>& where,
            const std::string& node) const;
  // Sends gangs away that rest on GPUs at `where` without a free slot, one of each node at a time. Returns their keys.
  std::vector<std::string> make_room(const PodGang& gang, const std::vector<GangPlace>& where,
                                     const Runs& runs);
  // Sends the gang away that has rested for the longest on those GPUs of the node. Returns its key; nothing if one is
  // going already, or none can.
  std::optional<std::string> send_away(const std::string& node, std::uint64_t gpus,
                                       const Runs& runs);
  bool goes(const std::string& key) const { return going_.contains(key); }

  // Returns the gangs whose agents are late.
  std::vector<std::string> late(Time now) const;
  // Returns when the next agents are late; Time::never(): none are waited for.
  Time due() const;

 private:
  const ClusterView& cluster_;
  const GangBook& gangs_;
  std::set<std::string> going_;           // keys
  std::map<std::string, Time> rest_due_;  // by when its agents should have frozen it, by key
};

}  // namespace fairlead
