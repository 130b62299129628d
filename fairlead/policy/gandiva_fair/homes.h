// Homes: the node or slices where each job is kept (Gandiva_fair).
//
// A job is kept on one node or, if that is too small for it, on slices of several: then it is
// *spread*. A kept job may have its GPUs or wait for its turn, on a contended node or as a spread
// job. The jobs are clients of strides (kit/gang_stride.h), with their dues as tickets. So the pass
// of a job that gets its due advances by one a quantum, and passes on every node are measured
// against that clock.
//
// The books are in the parts: nodes() has the jobs of each node and the nodes that are contended,
// spreads() the spread jobs. Homes has the home of each job, moves jobs in and out of both, and
// keeps passes and tickets. It decides nothing: HomeChoice finds homes, Turns chooses the running
// jobs, Balancer and Matching move jobs. Homes reports to entitlements and ledger where jobs are
// kept and which GPUs they have.
//
// move_in, move_out, move: O(jobs of the node). set_runs, questions: O(1), except as noted below.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/policy/gandiva_fair/accounts.h"
#include "fairlead/policy/gandiva_fair/node_books.h"
#include "fairlead/policy/gandiva_fair/spread_jobs.h"
#include "fairlead/policy/gandiva_fair/tiling.h"
#include "fairlead/policy/kit/job_lists.h"
#include "fairlead/policy/policy.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace fairlead {

// A node, or slices of several; neither: none.
struct Home {
  NodeId node{};
  std::span<const Slice> slices{};  // valid as its source specifies

  bool is_none() const { return node.is_none() && slices.empty(); }
};

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
    std::uint32_t spread = kNotSpread;  // row of the spread job
    GpuTypeId type;                     // the type where it is kept; none: nowhere
    Time since;  // with GPUs: charged up to here; without: waiting since then
    bool runs = false;

    bool is_spread() const { return spread != kNotSpread; }
    void fields(Archive& archive) { archive(node, spread, type, since, runs); }
  };

  // The accounts must outlive it.
  Homes(const Options& options, Accounts& accounts)
      : quantum_(options.quantum),
        accounts_(accounts),
        nodes_(options.node_jobs_per_gpu_max),
        kept_(0) {}

  // To be called first in every decision: enters new jobs, users and nodes, and sets the clock. The
  // cluster must outlive it.
  void begin(const View& view, const Plan& plan);

  // --- Questions. Spans are valid until the next change of homes.
  const Residence& of(JobId job) const { return residences_[job]; }
  bool is_kept(JobId job) const { return !residences_[job].type.is_none(); }
  const NodeBooks& nodes() const { return nodes_; }
  const SpreadJobs& spreads() const { return spreads_; }
  // The jobs that a user keeps on a type: the first, and the next one; none at the end.
  JobId first_kept(UserId user, GpuTypeId type) const { return kept_.first(list(user, type)); }
  JobId next_kept(JobId job) const { return kept_.after(job); }
  // REQUIRES: the job is spread.
  const SpreadJob& spread(JobId job) const { return spreads_[residences_[job].spread]; }
  // Returns true if some kept job may have to wait for its turn.
  bool is_contended() const { return !nodes_.contended().empty() || spreads_.wait(); }
  // Fills `jobs` with the jobs of the node, spread ones first.
  void list_jobs(NodeId node, std::vector<JobId>& jobs) const;
  // Returns the needs of all jobs of the node except one. O(jobs of the node).
  Tiling tiling(NodeId node, JobId without = JobId::none()) const;
  // Returns the fraction of the time that spread jobs are due on the node.
  double spread_time(NodeId node) const;
  // Returns the time in quanta: the pass of a job that always got its due.
  double clock() const { return static_cast<double>(now_.ms) / static_cast<double>(quantum_.ms); }
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
  void resize(NodeId node, std::uint32_t gpus);
  // Forgets a job that has ended. REQUIRES: !is_kept(job).
  void forget(JobId job) { residences_[job] = {}; }
  // Leaves no node of nodes() touched.
  void forget_touched() { nodes_.forget_touched(); }

  // --- Changes of passes and tickets

  // Charges the jobs that have GPUs on contended nodes, and spread jobs that have GPUs, up to now.
  void charge();
  // Updates tickets to the accounts, and the load of the node: of one node, of all contended nodes
  // and of spread jobs. A job's lead or lag in GPU time stays the same.
  void refresh(const View& view, NodeId node);
  void refresh(const View& view);
  // Return clients, to be sorted, chosen and given other passes: of the node, and of the spread job
  // in that row.
  std::span<StrideClient> queue(NodeId node) { return nodes_.queue(node); }
  StrideClient& spread_client(std::uint32_t row) { return spreads_.client(row); }

  // REQUIRES: no function was called before; the accounts are loaded.
  void fields(Archive& archive);

 private:
  std::size_t list(UserId user, GpuTypeId type) const {
    return user.row() * nodes_.types() + type.row();
  }
  void keep(const View& view, JobId job, GpuTypeId type);
  StrideClient new_client(const View& view, JobId job);
  void settle_on_node(const View& view, JobId job, NodeId node, double lead);
  void spread_out(const View& view, JobId job, std::span<const Slice> slices);
  void leave_slices(JobId job);
  double tickets_of(const View& view, JobId job) const;
  void begin_turns(NodeId node);
  void pay(StrideClient& client);
  void archive_residences(Archive& archive);

  const Duration quantum_;
  Accounts& accounts_;
  Time now_;
  IdVector<JobId, Residence> residences_;
  NodeBooks nodes_;
  SpreadJobs spreads_;
  JobLists kept_;                 // by user and type
  std::uint32_t next_order_ = 0;  // order of the next stride client
};

}  // namespace fairlead
