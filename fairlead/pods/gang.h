// One gang as the API server shows it, and what to do next so that it is where the engine wants it.
//
// All of it follows from the owner and its pods, so it does not matter which calls were answered, or
// who made them: what is not yet as it should be is asked for again.
//
//   to run:   resume the owner; once all of its pods are there, and the GPUs of their nodes are free,
//             bind each; they all run. Pods that ask for no GPU ride along, and are not waited for
//   to stop:  suspend the owner, which deletes its pods; where it cannot be suspended, mark the pods
//             as preempted and evict them. Their GPUs are free once they are gone
#pragma once

#include "fairlead/pods/members.h"
#include "fairlead/pods/owner.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

// How many of the gang's pods a node is to have.
struct GangPlace {
  std::string node;
  std::uint32_t pods = 1;
  std::uint64_t gpus = 0;  // with slots, which of the node's; else 0
  friend bool operator==(const GangPlace&, const GangPlace&) = default;
};

struct GangAct {
  enum class Kind : std::uint8_t { kResume, kSuspend, kBind, kThaw, kFreeze, kMark, kEvict } kind;
  std::string pod;         // its uid, where it is about one
  std::string node;        // of kBind
  std::uint64_t gpus = 0;  // of kBind, where they are given by the scheduler
};

class PodGang {
 public:
  explicit PodGang(Owner owner) : owner_(std::move(owner)) {}

  // What the API server shows.
  void set_owner(Owner owner) { owner_ = std::move(owner); }
  void set_pod(const Pod& pod) { pods_[pod.uid] = pod; }
  void remove_pod(const std::string& uid) { pods_.erase(uid); }
  const Owner& owner() const { return owner_; }
  const std::map<std::string, Pod>& pods() const { return pods_; }
  // Pods that have failed up to now did so in earlier tries.
  void begin();

  // No pod of it takes GPUs but on nodes that are `lost`, where no kubelet says what became of it.
  bool is_away(const std::function<bool(const std::string&)>& lost) const;
  // All of its pods with GPUs run where they should, but for those that have done their work.
  bool runs_at(const std::vector<GangPlace>& where) const;
  // Why it cannot come to run there, or run on; empty: nothing speaks against it. A pod that has
  // failed, or is on another node.
  std::string trouble(const std::vector<GangPlace>& where) const;
  // Where its pods are bound, if all of them are; else nothing.
  std::vector<GangPlace> found_at() const;

  // What to ask for now; nothing where there is nothing to do but wait. `fits`: whether a pod of that
  // many GPUs fits on a node beside all that take GPUs there.
  using Fits = std::function<bool(const std::string& node, std::uint32_t gpus)>;
  std::vector<GangAct> acts_to_run(const std::vector<GangPlace>& where, const Fits& fits) const;
  // `may_come`: of a pod without a node, whether it was asked to be bound and may be yet.
  using MayCome = std::function<bool(const std::string& uid)>;
  std::vector<GangAct> acts_to_stop(const MayCome& may_come) const;
  // A pod of it may be bound yet.
  bool may_be_bound(const MayCome& may_come) const;
  // It is not to be stopped for others: it said so, and has its place. A gang whose pods are not made
  // again has it with the first pod.
  bool is_pinned() const;
  // Those with GPUs that are not done, nor about to go.
  std::vector<const Pod*> members() const;
  // No pod with GPUs is missing: none has yet to be made, or made again.
  bool is_whole() const { return members().size() + succeeded() >= owner_.pods; }

 private:
  // As members(), of those without GPUs.
  std::vector<const Pod*> riders() const;
  // Of the last gang: those have done their work, and are not made again.
  std::uint32_t succeeded() const;
  void add_riders(const std::vector<GangPlace>& where, const Fits& fits,
                  std::vector<GangAct>& acts) const;

  Owner owner_;
  std::map<std::string, Pod> pods_;  // by uid
  std::set<std::string> old_;        // uids of those that failed in earlier tries
};

}  // namespace fairlead
