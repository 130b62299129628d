#include "fairlead/policy/kit/gang_stride.h"

#include <algorithm>
#include <limits>

namespace fairlead {

namespace {

bool is_ahead(const StrideClient& a, const StrideClient& b) {
  return a.pass != b.pass ? a.pass < b.pass : a.order < b.order;
}

// Returns the cost of one quantum for the client.
double stride(const StrideClient& client) { return client.gpus / client.tickets; }

}  // namespace

void sort_by_pass(std::span<StrideClient> queue) {
  if (!std::ranges::is_sorted(queue, is_ahead)) std::ranges::sort(queue, is_ahead);
}

std::uint32_t gang_stride(std::span<StrideClient> queue, std::uint32_t gpus, bool skip) {
  sort_by_pass(queue);
  for (StrideClient& client : queue) client.chosen = false;
  std::uint64_t taken = 0;
  for (const bool may_move : {false, true}) {
    for (StrideClient& client : queue) {
      if (gpus == 0) return 0;
      if (client.chosen || client.is_blocked) continue;
      const bool moves = (client.own & taken) != 0;
      if (client.gpus > gpus || (moves && (!may_move || client.stays))) {
        if (skip) continue;
        return gpus;
      }
      client.chosen = true;
      gpus -= client.gpus;
      taken |= client.own;
    }
  }
  return gpus;
}

void charge(StrideClient& client, double quanta) { client.pass += quanta * stride(client); }

void set_tickets(StrideClient& client, double tickets, double mean) {
  client.pass = mean + (client.pass - mean) * (client.tickets / tickets);
  client.tickets = tickets;
}

void cap_passes(std::span<StrideClient> queue, std::uint32_t gpus) {
  double smallest = std::numeric_limits<double>::infinity();
  double largest_stride = 0;
  for (const StrideClient& client : queue) {
    if (client.gpus > gpus || client.is_blocked) continue;
    smallest = std::min(smallest, client.pass);
    largest_stride = std::max(largest_stride, stride(client));
  }
  for (StrideClient& client : queue) {
    client.pass = std::min(client.pass, smallest + largest_stride);
  }
}

double mean_pass(std::span<const StrideClient> queue) {
  MeanPass mean;
  for (const StrideClient& client : queue) mean.add(client);
  return mean.value();
}

}  // namespace fairlead
