// One gang as the API server shows it, and the next calls that bring it to the engine's placement.
//
// The calls follow from the owner and its pods alone. Lost answers and earlier callers do not matter: a
// change that has not happened yet is requested again.
//
//   to run:   resume the owner; once all of its pods exist, and the GPUs of their nodes are free, bind
//             each; they all run. Pods without GPUs ride along, and are not waited for. Pods that the owner
//             creates in stages are bound as they come: the gang has the GPUs of all from the beginning
//   The pods of a Workload of Kueue are its own: it is resumed, and runs once Kueue has admitted it.
//   to stop:  suspend the owner, which deletes its pods; if it cannot be suspended, mark the pods as
//             preempted and evict them. Their GPUs are free once the pods are deleted
#pragma once

#include "fairlead/pods/devices.h"
#include "fairlead/pods/members.h"
#include "fairlead/pods/owner.h"
#include "fairlead/pods/volumes.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

// The number of the gang's tasks on one node.
struct GangPlace {
  std::string node;
  std::uint32_t tasks = 1;
  std::uint64_t gpus = 0;  // with slots, a bit mask of the node's GPUs; else 0
  friend bool operator==(const GangPlace&, const GangPlace&) = default;
};

struct GangAct {
  enum class Kind : std::uint8_t {
    kResume,
    kSuspend,
    kVolume,  // asks for a volume of the pod
    kDevice,  // writes to a claim of its GPUs
    kBind,
    kThaw,
    kFreeze,
    kMark,
    kEvict
  } kind;
  std::string pod;         // the pod's uid; empty: the call is for the owner
  std::string node;        // for kBind
  std::uint64_t gpus = 0;  // for kBind, if the scheduler chooses the GPUs
  VolumeRequest volume{};  // for kVolume
  DeviceRequest device{};  // for kDevice
};

class PodGang {
 public:
  explicit PodGang(Owner owner) : owner_(std::move(owner)) {}

  // Called with the objects that the API server shows.
  void set_owner(Owner owner) { owner_ = std::move(owner); }
  void set_pod(const Pod& pod) { pods_[pod.uid] = pod; }
  void remove_pod(const std::string& uid) { pods_.erase(uid); }
  const Owner& owner() const { return owner_; }
  const std::map<std::string, Pod>& pods() const { return pods_; }
  // Starts a new try: pods that have failed so far belong to earlier tries.
  void begin();

  // Returns whether its pods take no GPUs, except on `lost` nodes, which report nothing.
  bool is_away(const std::function<bool(const std::string&)>& lost) const;
  // Returns whether all of its pods with GPUs run in their places, except the succeeded ones, and those for which there are
  // no places: the owner may have grown since.
  bool runs_at(const std::vector<GangPlace>& where) const;
  // Returns why it cannot start or continue there: a pod has failed, or is on another node. Empty: it can.
  std::string trouble(const std::vector<GangPlace>& where) const;
  // Returns the places of its pods if all of them are bound; else nothing.
  std::vector<GangPlace> found_at() const;

  // Returns the calls to make now; nothing if the gang can only wait. `fits`: whether a pod with that
  // many GPUs fits on a node beside all pods that take GPUs there. `suits`: whether a pod may be on a node; if not all
  // pods can be on a node of theirs, some are bound to others.
  using Fits = std::function<bool(const std::string& node, std::uint32_t gpus)>;
  using Suits = std::function<bool(const Pod& pod, const std::string& node)>;
  std::vector<GangAct> acts_to_run(const std::vector<GangPlace>& where, const Fits& fits,
                                   const Suits& suits) const;
  // `may_come`: whether a pod without a node has a binding on its way that may take effect.
  using MayCome = std::function<bool(const std::string& uid)>;
  std::vector<GangAct> acts_to_stop(const MayCome& may_come) const;
  // Returns whether a binding on its way may take effect for one of its pods.
  bool may_be_bound(const MayCome& may_come) const;
  // Returns whether it must not be stopped for others: its annotation asks for that, and it is placed. If
  // nothing creates its pods again, the gang counts as placed with its first pod.
  bool is_pinned() const;
  // Returns its pods with GPUs that have not ended and are not being deleted.
  std::vector<const Pod*> members() const;
  // Returns how many pods with GPUs still have to be created.
  std::uint32_t missing() const;
  // Returns how many of these must exist before any pod is bound: none if the pods are created in stages, and some exist.
  std::uint32_t awaited() const { return owner_.is_staged && !pods_.empty() ? 0 : missing(); }
  // Returns whether all pods with GPUs exist: none has to be created, for the first time or again.
  bool is_whole() const { return missing() == 0; }

 private:
  // Returns the GPUs of a task that a pod with GPUs takes.
  std::uint32_t share(const Pod& pod) const;
  // Returns the GPUs that bound pods leave of the places, by node.
  std::map<std::string, std::uint32_t> room_left(const std::vector<GangPlace>& where) const;
  // Binds the pods without a node to places with that room; larger pods first.
  std::vector<GangAct> bindings(const std::vector<GangPlace>& where,
                                std::map<std::string, std::uint32_t> room,
                                const Suits& suits) const;
  // Returns the same as members() for pods without GPUs.
  std::vector<const Pod*> riders() const;
  // Returns the number of the last gang's pods that have succeeded and are not created again.
  std::uint32_t succeeded() const;
  void add_riders(const std::vector<GangPlace>& where, const Fits& fits,
                  std::vector<GangAct>& acts) const;

  Owner owner_;
  std::map<std::string, Pod> pods_;  // by uid
  std::set<std::string> old_;        // uids of pods that failed in earlier tries
};

}  // namespace fairlead
