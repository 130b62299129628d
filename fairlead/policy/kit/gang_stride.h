// Gang-aware stride scheduling of one pool of GPUs (Gandiva_fair, EuroSys 2020, slides): the rule
// alone, without time, placement or engine.
//
// Every quantum the clients stand in order of their passes. The walk takes who fits into what is
// left of the pool, skips who does not, and ends when nothing is left. Who ran pays its GPUs per
// ticket into its pass; who was skipped keeps a small pass, so it comes to the head, where an empty
// pool is waiting for it. Tickets thus buy GPU time, whatever the size of the gangs.
//
//   loop:  gang_stride(queue, gpus);          sets `chosen`
//          ... one quantum passes ...
//          charge(client, 1) for each chosen; cap_passes(queue, gpus)
//
// Plain stride is the same with every client of one GPU on a pool of one.
//
// Joining and leaving (ours, after Waldspurger and Weihl's stride): a newcomer starts at the
// mean_pass() of the pool, and a client that moves to another pool keeps what it was ahead or
// behind: its pass there is mean_pass(there) + pass - mean_pass(here), both means without it.
//
// What holds: the client with the smallest pass that fits an empty pool is always chosen, so the
// smallest pass advances. What does not: sizes that do not tile the pool leave GPUs idle (a 4 and a
// 1 on four GPUs idle 60 % of the time), and a client that fits beside others rides along, beyond
// its share, while its pass runs away; cap_passes() bounds the debt.
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
  // Of the pool's GPUs those that it is on, bit i for GPU i, for the next choice; 0: it can have any.
  std::uint64_t own = 0;

  void fields(Archive& archive) { archive(pass, tickets, gpus, order, job, chosen); }
};

// Sorts by pass, then order. O(n log n), O(n) if sorted already; no allocation.
void sort_by_pass(std::span<StrideClient> queue);

// Sorts the queue by pass and sets `chosen` for one quantum on `gpus` idle GPUs. A client that has GPUs
// of its own fits if no client before it has one of them; GPUs that would be left idle go to those
// that did not, which have to move.
// Charges no client. Without `skip` the first client that does not fit ends the walk (head-of-line
// blocking, an ablation). Returns the GPUs left idle. Costs the sort.
std::uint32_t gang_stride(std::span<StrideClient> queue, std::uint32_t gpus, bool skip = true);

// The client held its gang for that many quanta; fractions of one count in proportion.
void charge(StrideClient& client, double quanta);

// Gives the client other tickets. What it is ahead or behind in GPU time stays the same, so its
// distance from `mean`, the mean pass of its pool, changes as its tickets do (Waldspurger and Weihl's
// dynamic stride scheduling). REQUIRES: tickets > 0.
void set_tickets(StrideClient& client, double tickets, double mean);

// No client's pass is further above the smallest than the largest gang per ticket: the debt of a
// client that rode along while no other could use its GPUs is forgiven beyond that (ours).
// Clients that do not fit an empty pool of `gpus` are left out of both, or they would hold all
// others back. O(n).
void cap_passes(std::span<StrideClient> queue, std::uint32_t gpus);

// The mean weighted by tickets; 0 of no clients. O(n).
double mean_pass(std::span<const StrideClient> queue);

}  // namespace fairlead
