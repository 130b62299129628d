// Homes: the node or slices where each job is kept, and the books about it (Gandiva_fair).
//
// A job is kept on one node or, if that is too small for it, on slices of several: then it is
// *spread*. A kept job may have its GPUs or wait: a node's jobs may need more GPUs than it has, and
// take turns. Such a node is *contended*. Its jobs are clients of its stride (kit/gang_stride.h),
// with their dues as tickets. So the pass of a job that gets its due advances by one a quantum, and
// passes on every node are measured against that clock.
//
// Homes keeps the books and decides nothing. HomeChoice finds homes, Turns chooses the running
// jobs, Balancer and Matching move jobs. Homes reports to entitlements and ledger where jobs are
// kept and which GPUs they have.
//
// move_in, move_out, move: O(jobs of the node). set_runs, questions: O(1), except as noted below.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/indexed_heap.h"
#include "fairlead/policy/gandiva_fair/accounts.h"
#include "fairlead/policy/gandiva_fair/tiling.h"
#include "fairlead/policy/kit/gang_stride.h"
#include "fairlead/policy/kit/job_lists.h"
#include "fairlead/policy/policy.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace fairlead {

// A node, or slices of several; neither: none.
struct Home {
  NodeId node{};
  std::span<const Slice> slices{};  // valid as its source specifies

  bool is_none() const { return node.is_none() && slices.empty(); }
};

// Returns the job's need of its node if it gets its due.
inline Need need_of(const StrideClient& client) {
  return {client.gpus, std::min(1.0, client.tickets / client.gpus)};
}

class Homes {
 public:
  struct Options {
    Duration quantum;
    double node_jobs_per_gpu_max;  // limit of the GPUs of a node's kept jobs, per GPU
  };
  // The record of a job.
  struct Residence {
    static constexpr std::uint32_t kNotSpread = std::numeric_limits<std::uint32_t>::max();
    NodeId node;                        // the node of a job that one node keeps
    std::uint32_t spread = kNotSpread;  // row of spreads()
    GpuTypeId type;                     // the type where it is kept; none: nowhere
    Time since;  // with GPUs: charged up to here; without: waiting since then
    bool runs = false;

    bool is_spread() const { return spread != kNotSpread; }
    void fields(Archive& archive) { archive(node, spread, type, since, runs); }
  };
  struct Node {
    std::vector<StrideClient> queue;  // the jobs that this node alone keeps
    std::vector<JobId> spreads;       // the jobs that have a slice of it
    GpuTypeId type;                   // of the cluster
    std::uint32_t gpus = 0;           // GPUs of the node; if it is down, before that
    std::uint32_t wanted = 0;         // GPUs of all its jobs
    double load = 0;                  // GPUs that its jobs are due / gpus, at the last refresh
    bool is_down = false;
    bool is_contended = false;  // wanted > gpus

    std::uint32_t usable() const { return is_down ? 0 : gpus; }
    // Returns its GPUs that no kept job needs.
    std::uint32_t spare() const { return usable() - std::min(usable(), wanted); }
    void fields(Archive& archive) { archive(is_down, gpus, wanted, load, queue, spreads); }
  };
  struct Spread {
    StrideClient client;
    std::vector<Slice> slices;

    // Returns its need of one of its nodes.
    Need need_on(NodeId node) const;
    void fields(Archive& archive) { archive(client, slices); }
  };

  // The accounts must outlive it.
  Homes(const Options& options, Accounts& accounts)
      : options_(options), accounts_(accounts), kept_(0) {}

  // To be called first in every decision: enters new jobs, users and nodes, and sets the clock. The
  // cluster must outlive it.
  void begin(const View& view, const Plan& plan);

  // --- Questions. Spans are valid until the next change of homes.
  const Residence& of(JobId job) const { return residences_[job]; }
  bool is_kept(JobId job) const { return !residences_[job].type.is_none(); }
  const Node& node(NodeId node) const { return nodes_[node]; }
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t types() const { return nodes_of_type_.size(); }
  std::span<const NodeId> of_type(GpuTypeId type) const { return nodes_of_type_[type]; }
  // The nodes of the type by load.
  const IndexedHeap<double, NodeId>& by_load(GpuTypeId type) const { return by_load_[type]; }
  // GPUs of the type on nodes that are up.
  std::int64_t gpus_of_type(GpuTypeId type) const { return type_gpus_[type]; }
  // Returns a node with that many spare GPUs of the type, which no kept job needs, and as few more
  // as possible; or none.
  NodeId spare(GpuTypeId type, std::uint32_t gpus) const {
    return spare_->tightest(type, gpus, spare_->everywhere());
  }
  // Returns true if the node is up, large enough, and may keep `gpus` GPUs' worth of jobs more
  // after jobs of `less` GPUs leave.
  bool has_room(NodeId node, std::uint32_t gpus, std::uint32_t less = 0) const;
  // The jobs that a user keeps on a type: the first, and the next one; none at the end.
  JobId first_kept(UserId user, GpuTypeId type) const { return kept_.first(list(user, type)); }
  JobId next_kept(JobId job) const { return kept_.after(job); }
  std::span<const NodeId> contended() const { return contended_; }
  std::span<const Spread> spreads() const { return spreads_; }
  // REQUIRES: the job is spread.
  const Spread& spread(JobId job) const { return spreads_[residences_[job].spread]; }
  bool spread_waits() const { return spread_waits_ > 0; }
  // Returns true if some kept job may have to wait for its turn.
  bool is_contended() const { return !contended_.empty() || spread_waits_ > 0; }
  // Fills `jobs` with the jobs of the node, spread ones first.
  void list_jobs(NodeId node, std::vector<JobId>& jobs) const;
  // Returns the needs of all jobs of the node except one. O(jobs of the node).
  Tiling tiling(NodeId node, JobId without = JobId::none()) const;
  // Returns the fraction of the time that spread jobs are due on the node.
  double spread_time(NodeId node) const;
  // Returns the time in quanta: the pass of a job that always got its due.
  double clock() const {
    return static_cast<double>(now_.ms) / static_cast<double>(options_.quantum.ms);
  }
  // Returns the time since Residence::since, in quanta: the job's wait, or its time with GPUs that
  // is not charged yet.
  double quanta_since(JobId job) const;

  // --- Changes of homes

  // Keeps a job. On one node it starts at the mean pass of the jobs there plus `lead`. REQUIRES:
  // !is_kept(job); a spread job has whole tasks on each node.
  void move_in(const View& view, JobId job, Home home, double lead = 0);
  // Takes a job out of its home. A spread job then counts as one without GPUs. REQUIRES:
  // is_kept(job).
  void move_out(const View& view, JobId job);
  // Moves a job from its home into another. A job of one node keeps its lead or lag, and its
  // waiting time; a spread job starts again without them. REQUIRES: the job is kept and has no
  // GPUs.
  void move(const View& view, JobId job, Home home);
  // Called when the job got the GPUs of its home, or lost them. REQUIRES: is_kept(job).
  void set_runs(const View& view, JobId job, bool runs);
  // Sets the GPUs of the node from now on, 0 if it is down. REQUIRES: it keeps no job.
  void resize(const View& view, NodeId node, std::uint32_t gpus);
  // Forgets a job that has ended. REQUIRES: !is_kept(job).
  void forget(JobId job) { residences_[job] = {}; }

  // --- Changes of passes and tickets

  // Charges the jobs that have GPUs on contended nodes, and spread jobs that have GPUs, up to now.
  void charge();
  // Updates tickets to the accounts, and the load of the node: of one node, of all contended nodes
  // and of spread jobs. A job's lead or lag in GPU time stays the same.
  void refresh(const View& view, NodeId node);
  void refresh(const View& view);
  // Returns the node's clients, to be sorted, chosen and given other passes.
  std::span<StrideClient> queue(NodeId node) { return nodes_[node].queue; }
  // Returns the client of a spread job, for the same use. REQUIRES: `row` is below
  // spreads().size().
  StrideClient& spread_client(std::size_t row) { return spreads_[row].client; }

  // --- Nodes whose GPUs may go to other jobs, because a job arrived, left or moved since
  // forget_touched().
  std::span<const NodeId> touched() const { return touched_; }
  void forget_touched();

  // REQUIRES: no function was called before; the accounts are loaded.
  void fields(Archive& archive);

 private:
  std::size_t list(UserId user, GpuTypeId type) const {
    return user.row() * nodes_of_type_.size() + type.row();
  }
  void enter_node(const View& view, NodeId node);
  void keep(const View& view, JobId job, GpuTypeId type);
  StrideClient new_client(const View& view, JobId job);
  void settle_on_node(const View& view, JobId job, NodeId node, double lead);
  void spread_out(const View& view, JobId job, std::span<const Slice> slices);
  void leave_node(JobId job, NodeId node);
  void leave_spread(JobId job);
  double tickets_of(const View& view, JobId job) const;
  void want(NodeId node, std::int64_t gpus);
  void set_contended(NodeId node, bool is_contended);
  void begin_turns(Node& node);
  void touch(NodeId node);
  void pay(StrideClient& client);
  void archive_residences(Archive& archive);

  const Options options_;
  Accounts& accounts_;
  Time now_;
  IdVector<JobId, Residence> residences_;
  IdVector<NodeId, Node> nodes_;
  IdVector<GpuTypeId, std::vector<NodeId>> nodes_of_type_;
  IdVector<GpuTypeId, IndexedHeap<double, NodeId>> by_load_;
  IdVector<GpuTypeId, std::int64_t> type_gpus_;  // on nodes that are up
  std::optional<FreeIndex> spare_;               // GPUs that no kept job needs
  JobLists kept_;                                // by user and type
  std::vector<Spread> spreads_;
  std::uint32_t spread_waits_ = 0;  // spread jobs without GPUs
  std::vector<NodeId> contended_;
  IdVector<NodeId, std::uint32_t> slot_;  // in contended_
  std::vector<NodeId> touched_;
  IdVector<NodeId, char> is_touched_;
  std::uint32_t next_order_ = 0;  // order of the next stride client
};

}  // namespace fairlead
