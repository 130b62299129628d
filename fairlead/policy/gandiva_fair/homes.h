// Homes: where each job is kept, and the books about it (Gandiva_fair).
//
// A job is kept on one node or, if that is too small for it, on slices of several: then it is
// *spread*. Whether it holds its GPUs at the moment is another matter: a node's jobs may want more
// GPUs than it has, and take turns. Such a node is *contended*. Its jobs are clients of its stride
// (kit/gang_stride.h) with what they are due as tickets, so a job's pass advances by one a quantum
// where it gets what it is due: passes are measured against that clock, on every node the same.
//
// Homes keeps the books and decides nothing: HomeChoice finds homes, Turns who runs, Balancer and
// Matching who moves. Entitlements and ledger are told by it who is kept where and holds what.
//
// move_in, move_out, move: O(jobs of the node). set_holds, questions: O(1), but as said below.
#pragma once

#include "fairlead/base/archive.h"
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
  std::span<const Slice> slices{};  // valid as long as who gave it says

  bool is_none() const { return node.is_none() && slices.empty(); }
};

// What a job asks of its node when it gets what it is due.
inline Need need_of(const StrideClient& client) {
  return {client.gpus, std::min(1.0, client.tickets / client.gpus)};
}

class Homes {
 public:
  struct Options {
    Duration quantum;
    double node_jobs_per_gpu_max;  // GPUs' worth of jobs that a node keeps at most, per GPU
  };
  // Of a job.
  struct Residence {
    static constexpr std::uint32_t kNotSpread = std::numeric_limits<std::uint32_t>::max();
    NodeId node;                        // of a job that one node keeps
    std::uint32_t spread = kNotSpread;  // row of spreads()
    GpuTypeId type;                     // where it is kept; none: nowhere
    Time since;  // of one that holds GPUs: they are paid for up to here; else it waits since then
    bool holds = false;

    bool is_spread() const { return spread != kNotSpread; }
    void fields(Archive& archive) { archive(node, spread, type, since, holds); }
  };
  struct Node {
    std::vector<StrideClient> queue;  // the jobs that it alone keeps
    std::vector<JobId> spreads;       // those that have a slice of it
    std::uint32_t gpus = 0;           // it has or, while it is down, had
    std::uint32_t wanted = 0;         // GPUs of all of them
    double load = 0;                  // GPUs that they are due / gpus, as of the last look
    bool is_down = false;
    bool is_contended = false;  // wanted > gpus

    std::uint32_t usable() const { return is_down ? 0 : gpus; }
    void fields(Archive& archive) { archive(is_down, gpus, wanted, load, queue, spreads); }
  };
  struct Spread {
    StrideClient client;
    std::vector<Slice> slices;

    // What it needs of one of its nodes.
    Need need_on(NodeId node) const;
    void fields(Archive& archive) { archive(client, slices); }
  };

  // The accounts must outlive it.
  Homes(const Options& options, Accounts& accounts)
      : options_(options), accounts_(accounts), kept_(0) {}

  // To be called first in every decision: enters jobs, users and nodes that are new, and sets the
  // clock. The cluster must outlive it.
  void begin(const View& view, const Plan& plan);

  // --- Questions. Spans are valid until the next change of who is kept where.
  const Residence& of(JobId job) const { return residences_[job]; }
  bool is_kept(JobId job) const { return !residences_[job].type.is_none(); }
  const Node& node(NodeId node) const { return nodes_[node]; }
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t types() const { return nodes_of_type_.size(); }
  std::span<const NodeId> of_type(GpuTypeId type) const { return nodes_of_type_[type]; }
  // GPUs of the type on nodes that are up.
  std::int64_t gpus_of_type(GpuTypeId type) const { return type_gpus_[type]; }
  // A node with that many GPUs of the type that no kept job wants, as few more as there are; or none.
  NodeId spare(GpuTypeId type, std::uint32_t gpus) const {
    return spare_->tightest(type, gpus, spare_->everywhere());
  }
  // Whether the node is up, large enough, and may keep jobs of so many GPUs more, if jobs of `less`
  // leave.
  bool has_room(NodeId node, std::uint32_t gpus, std::uint32_t less = 0) const;
  // The jobs that a user keeps on a type: the first, and the one after; none at the end.
  JobId first_kept(UserId user, GpuTypeId type) const { return kept_.first(list(user, type)); }
  JobId next_kept(JobId job) const { return kept_.after(job); }
  std::span<const NodeId> contended() const { return contended_; }
  std::span<const Spread> spreads() const { return spreads_; }
  // REQUIRES: the job is spread.
  const Spread& spread(JobId job) const { return spreads_[residences_[job].spread]; }
  bool spread_waits() const { return spread_waits_ > 0; }
  // Whether some kept job may have to wait for its turn.
  bool is_contended() const { return !contended_.empty() || spread_waits_ > 0; }
  // The jobs of the node, spread ones first, into `jobs`.
  void list_jobs(NodeId node, std::vector<JobId>& jobs) const;
  // What is asked of the node by all of its jobs but one. O(jobs of the node).
  Tiling tiling(NodeId node, JobId without = JobId::none()) const;
  // The fraction of the time that spread jobs are due on the node.
  double spread_time(NodeId node) const;
  // Now, in quanta: the pass of a job that always got what it was due.
  double clock() const {
    return static_cast<double>(now_.ms) / static_cast<double>(options_.quantum.ms);
  }
  // What the job waited, or held and did not pay for, in quanta.
  double quanta_since(JobId job) const;

  // --- Changes of who is kept where
  // Keeps a job. On one node it begins at the mean pass of those that it meets plus `lead`.
  // REQUIRES: !is_kept(job); a spread job has whole tasks on each node.
  void move_in(const View& view, JobId job, Home home, double lead = 0);
  // REQUIRES: is_kept(job). It counts as one that does not hold, if it was spread.
  void move_out(const View& view, JobId job);
  // Out of its home and into another. A job of one node keeps what it is ahead or behind, and how
  // long it has waited; a spread one begins anew. REQUIRES: it is kept and does not hold.
  void move(const View& view, JobId job, Home home);
  // The job got the GPUs of its home, or lost them. REQUIRES: is_kept(job).
  void set_holds(const View& view, JobId job, bool holds);
  // The node has so many GPUs from now on, 0 if it is down. REQUIRES: it keeps no job.
  void resize(const View& view, NodeId node, std::uint32_t gpus);
  // Forgets a job that is over. REQUIRES: !is_kept(job).
  void forget(JobId job) { residences_[job] = {}; }

  // --- Changes of passes and tickets
  // Those that hold GPUs on contended nodes, and spread jobs that do, pay for them up to now.
  void charge();
  // Brings tickets up to date with the accounts, and the load of the node: of one node, of all that
  // are contended and of spread jobs. What a job is ahead or behind in GPU time stays the same.
  void refresh(const View& view, NodeId node);
  void refresh(const View& view);
  // The node's clients, to be sorted, chosen and given other passes.
  std::span<StrideClient> queue(NodeId node) { return nodes_[node].queue; }
  // Likewise. REQUIRES: `row` is below spreads().size().
  StrideClient& spread_client(std::size_t row) { return spreads_[row].client; }

  // --- Nodes where GPUs may go to others, since forget_touched(): someone came, left, or moved.
  std::span<const NodeId> touched() const { return touched_; }
  void forget_touched();

  // REQUIRES: nothing was called before; the accounts are loaded.
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
  void list_contended(Archive& archive);
  void archive_residences(Archive& archive);

  const Options options_;
  Accounts& accounts_;
  Time now_;
  IdVector<JobId, Residence> residences_;
  IdVector<NodeId, Node> nodes_;
  IdVector<GpuTypeId, std::vector<NodeId>> nodes_of_type_;
  IdVector<GpuTypeId, std::int64_t> type_gpus_;  // on nodes that are up
  std::optional<FreeIndex> spare_;               // GPUs that no kept job wants
  JobLists kept_;                                // by user and type
  std::vector<Spread> spreads_;
  std::uint32_t spread_waits_ = 0;  // spread jobs that hold nothing
  std::vector<NodeId> contended_;
  IdVector<NodeId, std::uint32_t> slot_;  // in contended_
  std::vector<NodeId> touched_;
  IdVector<NodeId, char> is_touched_;
  std::uint32_t next_order_ = 0;  // of stride clients
};

}  // namespace fairlead
