// Gandiva_fair: users hold tickets; GPU time is shared in proportion (Chaudhary et al., EuroSys
// 2020). docs/policies/gandiva-fair.md tells what is the paper's and what is ours.
//
// How it fits together:
//   Entitlements  who is due what: tickets, trading, and a ledger of debts
//   homes         every job is kept on one node, or, if larger, on a fixed set of nodes; a job
//                 that finds no room waits outside, and users with the least kept come in first
//   split stride  every quantum each node chooses among its jobs by gang-aware stride, with the
//                 entitlements as tickets; jobs of several nodes are weighed at the centre
//                 against the aggregate of each of their nodes
//   balancing     moves jobs from nodes that cannot serve what their jobs are due (Tiling), and
//                 between GPU types where a user has fewer jobs than it is entitled to GPUs
//
// A node whose jobs all fit runs them all and is never looked at. Between quanta, GPUs that come
// free go to the next jobs of the same node.
//
// Cost: an event O(log users + jobs of the node), and O(nodes) to find a home in a full
// cluster; a quantum O(jobs on nodes where some wait + users x types); a round of balancing
// O(nodes log nodes + moves x jobs of a node).
#pragma once

#include "fairlead/base/indexed_heap.h"
#include "fairlead/policy/gandiva_fair/entitlements.h"
#include "fairlead/policy/gandiva_fair/tiling.h"
#include "fairlead/policy/kit/gang_stride.h"
#include "fairlead/policy/kit/job_lists.h"
#include "fairlead/policy/registry.h"

#include <limits>
#include <vector>

namespace fairlead {

struct GandivaFairOptions {
  Duration quantum;
  bool skip;
  bool cap;
  bool balance;
  std::int64_t balance_quanta;    // between rounds of balancing
  std::int64_t cool_down_quanta;  // a job that moved stays so long
  double gain;                    // GPUs that a move must gain per GPU it moves
  double moves;                   // per node and round, at most
  std::int64_t trade_quanta;      // between trades
  // GPUs' worth of jobs that a user has in, per GPU that it is entitled to; twice as many at most
  // on a node, per GPU.
  double jobs_per_gpu_max;
  EntitlementOptions entitlements;
  bool trade;
};

// REQUIRES: they are options of "gandiva-fair".
GandivaFairOptions gandiva_fair_options(const PolicyOptions& options);

class GandivaFair : public Policy {
 public:
  explicit GandivaFair(const GandivaFairOptions& options)
      : options_(options), entitlements_(options.entitlements), outside_(0), kept_(0) {}

  std::string_view name() const override;
  Needs needs() const override { return {.rates = RatesNeeded::kProfiled}; }
  void decide(const View& view, Plan& plan) override;
  void save(Writer& writer) const override;
  void load(Reader& reader) override;

 private:
  static constexpr std::uint32_t kNotSpread = std::numeric_limits<std::uint32_t>::max();

  // Where a job is kept, and up to when its hold there is paid for.
  struct Residence {
    NodeId home;                        // of a job that one node keeps
    std::uint32_t spread = kNotSpread;  // row of spreads_
    GpuTypeId type;                     // where it is kept; none: outside
    Time charged;                       // its hold is paid for up to here
    Time moved = {-1};                  // when it was last given a home elsewhere; -1: never
    bool holds = false;
    double head_start = 0;  // while its node chooses
  };
  struct NodeState {
    std::vector<StrideClient> queue;
    std::vector<JobId> spreads;  // jobs of several nodes that use this one
    std::uint32_t gpus = 0;      // it has or, while it is down, had
    std::uint32_t wanted = 0;    // GPUs of all of them
    double load = 0;             // GPUs that its jobs are due / its GPUs, as of the last look
    std::uint32_t slot = 0;      // in contended_
    bool is_down = false;
    bool is_contended = false;
    bool is_touched = false;
    std::uint32_t left = 0;  // of a node with spread jobs: GPUs for its own in this quantum
  };
  // A job larger than any node of its type.
  struct Spread {
    StrideClient client;
    std::vector<Slice> slices;
    double key = 0;  // its pass less its head start, while choosing
  };
  // A move between GPU types.
  struct Match {
    JobId job;
    NodeId to;
    double gain = 0;
  };
  // A node in an order by `key`.
  struct RankedNode {
    double key;
    NodeId node;
  };

  // gandiva_fair.cc: the life of a job, and the quantum.
  void begin(const View& view, const Plan& plan);
  void enter_node(const View& view, NodeId node);
  void apply_news(const View& view, Plan& plan);
  void apply_event(const View& view, Plan& plan, const Event& event);
  void leave(const View& view, JobId job);
  void set_holds(const View& view, JobId job, bool holds);
  bool is_contended() const {
    return !contended_.empty() || outside_count_ > 0 || spread_waits_ > 0;
  }
  bool may_match_types() const;
  void run_quantum(const View& view, Plan& plan);
  void charge_all(const View& view);
  void trade_if_due(const View& view, Plan& plan);
  void note_trades(std::span<const Trade> trades, Plan& plan) const;
  void find_speeds(const View& view);
  double add_speeds(const View& view, JobId job, double* speeds);
  Time next_boundary() const;
  double clock() const;
  void bound_passes(NodeState& state) const;
  static void set_tickets(StrideClient& client, double tickets, double mean);
  void refresh(const View& view, Spread& spread) const;
  void choose_spreads(const View& view);
  void find_lags();
  void count_turn(const View& view, const StrideClient& client);
  double head_start(const View& view, const StrideClient& client) const;
  bool has_waited_long(const StrideClient& client) const;
  void take_turns(const View& view, std::span<StrideClient> queue, std::uint32_t gpus);
  void choose_and_stop(const View& view, Plan& plan);
  void start_chosen(const View& view, Plan& plan);
  void fill_touched(const View& view, Plan& plan);
  void fill(const View& view, Plan& plan, NodeId node);
  void start(const View& view, Plan& plan, JobId job);
  void stop(const View& view, Plan& plan, JobId job);
  void ask_to_be_woken(const View& view, Plan& plan);
  double tickets_of(const View& view, JobId job) const;

  // homes.cc: where jobs are kept.
  void put_outside(const View& view, JobId job, bool first);
  void consider(UserId user);
  bool may_come_in(const View& view, JobId job);
  void settle_in(const View& view);
  bool fits_when_empty(const View& view, JobId job) const;
  bool find_home(const View& view, JobId job);
  void order_types(const View& view, JobId job);
  double rate(const View& view, JobId job, GpuTypeId type) const;
  NodeId find_server(const View& view, JobId job, GpuTypeId type);
  bool find_servers(const View& view, JobId job, TypeMask types);
  void move_in(const View& view, JobId job, NodeId node, double lead);
  double spread_time(NodeId node) const;
  void spread_out(const View& view, JobId job);
  void move_out(const View& view, JobId job);
  StrideClient take_client(NodeId node, JobId job);
  void want(NodeId node, std::int64_t gpus);
  void touch(NodeId node);
  void begin_turns(NodeState& state);
  bool has_room(NodeId node, std::uint32_t gpus) const;
  void empty_node(const View& view, Plan& plan, NodeId node);
  void resize_node(const View& view, Plan& plan, NodeId node);

  // state.cc
  void save_lists(Writer& writer) const;
  void load_lists(Reader& reader);

  // balance.cc
  void balance(const View& view, Plan& plan);
  void refresh(const View& view, NodeId node);
  void look_at(std::size_t candidate);
  Tiling tiling_of(NodeId node, JobId without = JobId::none()) const;
  static Need need_of(const StrideClient& client);
  void list_least_loaded(const View& view, GpuTypeId type);
  Need spread_need(JobId job, NodeId node) const;
  double usable(UserId user, GpuTypeId type, std::int64_t more) const;
  bool part_spreads(const View& view, Plan& plan);
  bool join_holes(const View& view, Plan& plan, GpuTypeId type);
  bool relieve(const View& view, Plan& plan, NodeId node);
  void move(const View& view, Plan& plan, JobId job, NodeId to);
  bool is_tried(const StrideClient& client);
  bool may_move(const View& view, JobId job) const;
  void match_types(const View& view, Plan& plan);
  void use_spare(const View& view, Plan& plan, UserId user);
  NodeId find_spare(const View& view, JobId job);
  void improve(const View& view, UserId user, GpuTypeId from, GpuTypeId to, Match& best);
  bool match_types_of(const View& view, Plan& plan, UserId user);
  double gain_of_move(const View& view, JobId job, GpuTypeId to) const;

  const GandivaFairOptions options_;
  Entitlements entitlements_;
  IdVector<JobId, Residence> residences_;
  IdVector<NodeId, NodeState> nodes_;
  IdVector<GpuTypeId, std::vector<NodeId>> nodes_of_type_;
  std::vector<Spread> spreads_;
  std::uint32_t spread_waits_ = 0;         // spread jobs that hold nothing
  std::vector<NodeId> contended_;          // nodes that want more GPUs than they have
  std::optional<FreeIndex> spare_;         // GPUs that no kept job wants
  JobLists outside_;                       // by user: jobs without a home, in order of arrival
  IndexedHeap<double, UserId> coming_in_;  // users to let jobs in of, by GPUs kept per ticket
  std::int64_t outside_count_ = 0;
  JobLists kept_;                                // by user and type
  IdVector<GpuTypeId, std::int64_t> type_gpus_;  // on nodes that are up
  Time next_quantum_;
  Time next_balance_;
  Time next_trade_;
  Time wake_ = {-1};
  bool was_contended_ = false;
  std::uint32_t next_order_ = 0;

  // Of the decision under way.
  Time now_;
  std::vector<NodeId> touched_;
  std::vector<GpuTypeId> type_choice_;
  std::vector<double> type_scores_;
  std::vector<RankedNode> candidates_;
  std::vector<Tiling> tilings_;  // of the candidates, while balancing
  std::vector<RankedNode> sources_;
  std::vector<std::pair<std::uint32_t, double>> tried_;
  std::vector<Spread*> spread_order_;
  std::vector<Slice> slices_;
  std::vector<double> speeds_;  // by user and type
  std::vector<double> lags_;    // by user and type, in turns
  std::vector<JobId> leaving_;
};

}  // namespace fairlead
