// Gang-aware stride scheduling of one pool of GPUs (Gandiva_fair, EuroSys 2020, slides): the rule
// alone, without time, placement or engine.
//
// Every quantum the clients are sorted by pass. The walk takes each client that fits into the
// rest of the pool, skips the others, and ends when nothing is left. A chosen client pays its GPUs
// per ticket into its pass. A skipped client keeps a small pass, so it reaches the head, where the
// pool is still empty. Tickets thus buy GPU time, whatever the size of the gangs.
//
//   loop:  gang_stride(queue, gpus);          sets `chosen`
//          ... one quantum passes ...
//          charge(client, 1) for each chosen; cap_passes(queue, gpus)
//
// Plain stride scheduling is the case in which every client has one GPU and so has the pool.
//
// Joining and leaving (ours, after Waldspurger and Weihl's stride): a newcomer starts at the
// mean_pass() of the pool. A client that moves to another pool keeps its distance from the mean:
// its new pass is mean_pass(there) + pass - mean_pass(here), both means without it.
//
// Guarantee: the client with the smallest pass that fits an empty pool is always chosen, so the
// smallest pass advances. Limits: sizes that do not tile the pool leave GPUs idle (a 4 and a 1 on
// four GPUs idle 60 % of the time). A client that fits beside others rides along, beyond its share,
// while its pass runs away; cap_passes() bounds the debt.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/ids.h"

#include <cstdint>
#include <span>

namespace fairlead {

struct StrideClient {
  double pass = 0;          // GPU-quanta per ticket
  double tickets = 1;       // above 0
  std::uint32_t gpus = 1;   // its gang, at least 1
  std::uint32_t order = 0;  // settles ties, smallest first; different for each client of a pool
  JobId job;
  bool chosen = false;
  // The GPUs of the pool that the client is on, bit i for GPU i, for the next choice; 0: any GPUs
  // will do.
  std::uint64_t own = 0;
  bool stays = false;       // it takes its own GPUs or none
  bool is_blocked = false;  // some of these cannot be used: it takes no turn

  void fields(Archive& archive) { archive(pass, tickets, gpus, order, job, chosen); }
};

// Sorts by pass, then order. O(n log n), O(n) if sorted already; no allocation.
void sort_by_pass(std::span<StrideClient> queue);

// Sorts the queue by pass and sets `chosen` for one quantum on `gpus` idle GPUs. A client with
// GPUs of its own fits if no earlier client has one of them. GPUs that would then be idle go to
// clients that did not fit, unless they stay; these must move. Charges no client. Without `skip` the first client
// that does not fit ends the walk (head-of-line blocking, an ablation). Returns the number of idle
// GPUs. Costs the sort.
std::uint32_t gang_stride(std::span<StrideClient> queue, std::uint32_t gpus, bool skip = true);

// Charges the client for its gang over that many quanta; fractions count in proportion.
void charge(StrideClient& client, double quanta);

// Sets the client's tickets. Its lead or lag in GPU time stays the same, so its distance from
// `mean`, the mean pass of its pool, changes with the tickets (Waldspurger and Weihl's dynamic
// stride scheduling). REQUIRES: tickets > 0.
void set_tickets(StrideClient& client, double tickets, double mean);

// Limits every pass to the smallest pass plus the largest gang per ticket. The rest of the debt of
// a client that rode along, while no other client could use its GPUs, is forgiven (ours). Clients
// that do not fit an empty pool of `gpus`, or are blocked, are left out of both, or they would block all others.
// O(n).
void cap_passes(std::span<StrideClient> queue, std::uint32_t gpus);

// The mean pass of clients, weighted by tickets; 0 without clients. All: O(1).
class MeanPass {
 public:
  void add(const StrideClient& client) {
    tickets_ += client.tickets;
    weighted_ += client.tickets * client.pass;
  }
  double value() const { return tickets_ > 0 ? weighted_ / tickets_ : 0; }

 private:
  double tickets_ = 0;
  double weighted_ = 0;
};

// Returns the mean of the queue. O(n).
double mean_pass(std::span<const StrideClient> queue);

}  // namespace fairlead
