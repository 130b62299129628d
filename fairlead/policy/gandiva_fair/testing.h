// For tests of the parts of Gandiva_fair: users on a cluster, their entitlements and accounts, and
// options by name.
#pragma once

#include "fairlead/input/cluster_file.h"
#include "fairlead/policy/gandiva_fair/gandiva_fair.h"
#include "testing/world.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

inline const GpuTypeId kFast(0);
inline const GpuTypeId kSlow(1);
inline const UserId kAnn(0);
inline const UserId kBen(1);
inline const UserId kEve(2);

// The options of the policy as it is written on the command line.
inline EntitlementOptions entitlement_options(std::string_view policy = "gandiva-fair") {
  return gandiva_fair_options(options_named(policy)).entitlements;
}
inline LedgerOptions ledger_options(std::string_view policy = "gandiva-fair") {
  return gandiva_fair_options(options_named(policy)).ledger;
}

// Users u0, u1, ... with these tickets.
struct Tenants {
  Tenants(std::string_view shorthand, const std::vector<std::int64_t>& tickets)
      : cluster(*parse_cluster_shorthand(shorthand)) {
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      users.names.push_back("u" + std::to_string(i));
      users.tickets.push_back(tickets[i]);
    }
  }

  // Puts the users into a new group.
  void group(const std::vector<UserId>& members, std::int64_t tickets, std::int64_t quota = 0) {
    const GroupId group(users.groups.size());
    users.groups.names.push_back("g" + std::to_string(group.row()));
    users.groups.tickets.push_back(tickets);
    users.groups.quota.push_back(quota);
    for (UserId user : members) users.group.grow_to(user) = group;
  }

  Cluster cluster;
  Users users;
};

// Their entitlements.
struct Market : Tenants {
  Market(std::string_view shorthand, const std::vector<std::int64_t>& tickets,
         const EntitlementOptions& options = entitlement_options())
      : Tenants(shorthand, tickets), entitlements(options) {
    entitlements.begin(users, cluster);
  }

  // Adds `jobs` more jobs of the user, all kept on the type.
  void add(UserId user, GpuTypeId type, std::uint32_t gpus, int jobs = 1) {
    for (int i = 0; i < jobs; ++i) {
      entitlements.add_demand(user, gpus);
      entitlements.keep(user, type, gpus);
    }
  }
  double share(UserId user, GpuTypeId type = GpuTypeId(0)) const {
    return entitlements.share(user, type);
  }

  Entitlements entitlements;
};

// Their accounts.
struct Books : Tenants {
  Books(std::string_view shorthand, const std::vector<std::int64_t>& tickets,
        const LedgerOptions& ledger = ledger_options(),
        const EntitlementOptions& options = entitlement_options())
      : Tenants(shorthand, tickets), accounts(options, ledger) {
    accounts.begin(users, cluster);
  }

  // Adds `jobs` more jobs of the user, all kept on the type.
  void add(UserId user, GpuTypeId type, std::uint32_t gpus, int jobs = 1) {
    for (int i = 0; i < jobs; ++i) {
      accounts.add_demand(user, gpus);
      accounts.keep(user, type, gpus);
    }
  }
  double share(UserId user, GpuTypeId type = GpuTypeId(0)) const {
    return accounts.due().share(user, type);
  }

  Accounts accounts;
};

// Homes in which a test keeps jobs: nodes in the order of the shorthand, quanta of 60 s, a clock.
struct Town : Books {
  static constexpr Duration kQuantum = seconds(60);

  Town(std::string_view shorthand, const std::vector<std::int64_t>& tickets,
       double jobs_per_gpu_max = 4)
      : Books(shorthand, tickets),
        homes({.quantum = kQuantum, .node_jobs_per_gpu_max = 2 * jobs_per_gpu_max}, accounts) {
    homes.begin(view(), plan);
  }

  View view() const {
    return {.now = now,
            .cluster = cluster,
            .users = users,
            .jobs = jobs,
            .speed = speed,
            .work = work,
            .news = {},
            .waiting = {},
            .running = {}};
  }
  // Adds the user's next job, which is kept nowhere yet.
  JobId arrive(UserId user, std::uint32_t gpus, TypeMask types = kAllTypes,
               std::uint32_t task_gpus = 1) {
    const JobId job(jobs.size());
    jobs.add({.job = job, .user = user, .gpus = gpus, .task_gpus = task_gpus, .types = types}, {});
    speed.add_job(job);
    accounts.add_demand(user, gpus);
    homes.begin(view(), plan);
    return job;
  }
  // Adds a job that is kept on a node, or on slices of several.
  JobId keep(UserId user, std::uint32_t gpus, std::size_t node) {
    const JobId job = arrive(user, gpus);
    homes.move_in(view(), job, {.node = NodeId(node)});
    return job;
  }
  JobId spread(UserId user, const std::vector<Slice>& slices) {
    const JobId job = arrive(user, gpus_of(slices));
    homes.move_in(view(), job, {.slices = slices});
    return job;
  }
  void run(JobId job, bool runs = true) { homes.set_runs(view(), job, runs); }
  // Makes the job a former one of its node, so it is not a user's first job.
  void has_run(JobId job, std::size_t node = 0) {
    const Slice slice = {NodeId(node), 1};
    jobs.last[job] = jobs.gangs.add({&slice, 1});
  }
  // Updates shares, and tickets with them, to the kept jobs.
  void update() {
    accounts.update(now);
    homes.refresh(view());
  }
  void wait(Duration duration) {
    now = now + duration;
    speed.set_now(now);
    homes.begin(view(), plan);
  }
  // Measures the rate of the job's user on GPUs of the node; takes ten seconds.
  void learn(JobId job, std::size_t node, double rate) {
    const Slice slice = {NodeId(node), static_cast<std::uint16_t>(jobs.gpus[job])};
    learn_on(job, {&slice, 1}, rate);
  }
  // Measures it on these GPUs.
  void learn_on(JobId job, std::span<const Slice> gpus, double rate) {
    speed.on_run_begin(job, gpus, Rate::of(rate));
    speed.on_start(job, gpus, {});
    wait(seconds(10));
    speed.on_run_end(job);
  }
  const StrideClient& client(JobId job) const {
    const Homes::Residence& home = homes.of(job);
    if (home.is_spread()) return homes.spread(job).client;
    return *std::ranges::find(homes.nodes()[home.node].queue, job, &StrideClient::job);
  }
  NodeId node_of(JobId job) const { return homes.of(job).node; }

  Time now;
  Jobs jobs;
  Plan plan{cluster, jobs};
  KnownSpeed speed{nullptr, cluster, jobs, RatesNeeded::kProfiled, {}};
  KnownWork work{jobs, nullptr, WorkSource::kNone, {}};
  Homes homes;
};

// Drawn worlds have these GPUs, and one to six users.
constexpr std::string_view kThreeTypes = "3xV100:4,2xP100:8,5xK80:4";
inline std::vector<std::int64_t> drawn_tickets() {
  return *rc::gen::container<std::vector<std::int64_t>>(*rc::gen::inRange<std::size_t>(1, 7),
                                                        rc::gen::inRange<std::int64_t>(1, 6));
}

}  // namespace fairlead
