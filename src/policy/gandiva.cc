// Gandiva: jobs of one gang size share nodes, and take turns where there are more than fit.
//
// Every job has a home, the slices of nodes that it runs on. A node's affinity is the gang size of
// the first job that came to it when it was empty. Homes may promise more GPUs than a node has: the
// jobs of such a crowded node take turns. When a job leaves, others move into its room.
//
// Invariant: a job that has a home but no gang has a crowded one; all other homes run.
//
// Cost of a decision: O(nodes + jobs here) per arrival and departure; a turn O(jobs here); after a
// departure also O(nodes) for each job that waits for its turn or is spread.
#include "policy/class_queue.h"
#include "policy/policies.h"

#include <algorithm>
#include <tuple>

namespace fairlead {
namespace {

struct GandivaOptions {
  Duration quantum;
  bool migrate = true;
};

class Gandiva : public Policy {
 public:
  explicit Gandiva(GandivaOptions options) : options_(options) {}

  std::string_view name() const override { return kGandiva.name; }
  void decide(const View& view, Plan& plan) override;
  void save(Writer& writer) const override;
  void load(Reader& reader) override;

 private:
  using Home = std::vector<Slice>;
  struct Tenant {
    JobId job;
    Home home;
  };
  struct Server {
    std::uint32_t affinity = 0;  // means nothing while nobody lives here
    std::uint32_t promised = 0;  // GPUs of all homes here
  };
  enum class Among : std::uint8_t { kEmptyNodes, kAllNodes };

  // Who lives here.
  bool apply_news(const View& view);
  void wait_for_home(const View& view, JobId job);
  void leave_node(const View& view, NodeId node);
  void move_out(JobId job);
  void set_affinity(const Home& home, std::uint32_t gpus);
  void promise(const Home& home);
  void withdraw(const Home& home);

  // Homes.
  void give_homes(const View& view, const Plan& plan);
  Home find_room(const View& view, const Plan& plan, JobId job) const;
  Home find_node(const View& view, const Plan& plan, JobId job) const;
  Home find_nodes(const View& view, const Plan& plan, Among among, std::uint32_t gpus,
                  TypeMask types) const;
  Home find_shared(const View& view, JobId job) const;
  std::uint32_t room(const View& view, const Plan& plan, NodeId node) const;
  bool is_crowded(const View& view, const Home& home) const;
  void migrate(const View& view, Plan& plan);

  // Turns.
  void take_turns(Plan& plan);
  bool run_those_with_room(Plan& plan) const;

  const GandivaOptions options_;
  ClassQueue waiting_;           // jobs without a home
  std::vector<Tenant> tenants_;  // jobs with one, in order of turns
  IdVector<NodeId, Server> servers_;
};

void Gandiva::decide(const View& view, Plan& plan) {
  if (servers_.empty()) servers_.resize(view.cluster.nodes());
  const bool has_more_room = apply_news(view);
  give_homes(view, plan);
  if (has_more_room && options_.migrate) {
    migrate(view, plan);
    give_homes(view, plan);
  }
  if (view.now.ms % options_.quantum.ms == 0) take_turns(plan);
  if (!run_those_with_room(plan)) {
    plan.wake_at({(view.now.ms / options_.quantum.ms + 1) * options_.quantum.ms});
  }
}

// ---- who lives here ----

// True if there may be more room than before.
bool Gandiva::apply_news(const View& view) {
  waiting_.reserve(view.jobs.size());
  bool has_more_room = false;
  for (const Event& event : view.news) {
    switch (event.kind) {
      case EventKind::kArrived:
        wait_for_home(view, event.job);
        break;
      case EventKind::kEvicted:
      case EventKind::kStartFailed:
        move_out(event.job);
        wait_for_home(view, event.job);
        has_more_room = true;
        break;
      case EventKind::kFinished:
      case EventKind::kFailed:
      case EventKind::kCancelled:
        move_out(event.job);
        waiting_.erase(event.job);
        has_more_room = true;
        break;
      case EventKind::kNodeDown:
        leave_node(view, event.node);
        break;
      case EventKind::kNodeUp:
        has_more_room = true;
        break;
      default:
        break;
    }
  }
  return has_more_room;
}

void Gandiva::wait_for_home(const View& view, JobId job) {
  waiting_.add(0, view.jobs.gpus[job], view.jobs.types[job],
               {.major = view.jobs.arrival[job].ms, .job = job});
}

// Those who ran there were evicted; those who waited for their turn must find another home too.
void Gandiva::leave_node(const View& view, NodeId node) {
  std::erase_if(tenants_, [&](const Tenant& tenant) {
    if (std::ranges::count(tenant.home, node, &Slice::node) == 0) return false;
    withdraw(tenant.home);
    wait_for_home(view, tenant.job);
    return true;
  });
}

// Does nothing if the job has no home.
void Gandiva::move_out(JobId job) {
  const auto tenant = std::ranges::find(tenants_, job, &Tenant::job);
  if (tenant == tenants_.end()) return;
  withdraw(tenant->home);
  tenants_.erase(tenant);
}

void Gandiva::set_affinity(const Home& home, std::uint32_t gpus) {
  for (Slice slice : home) {
    if (servers_[slice.node].promised == 0) servers_[slice.node].affinity = gpus;
  }
}

void Gandiva::promise(const Home& home) {
  for (Slice slice : home) servers_[slice.node].promised += slice.gpus;
}

void Gandiva::withdraw(const Home& home) {
  for (Slice slice : home) servers_[slice.node].promised -= slice.gpus;
}

// ---- homes ----

void Gandiva::give_homes(const View& view, const Plan& plan) {
  waiting_.unblock();
  while (ClassQueue::Class* const next = waiting_.first_open()) {
    const JobId job = next->head().job;
    Home home = find_room(view, plan, job);
    if (home.empty()) home = find_shared(view, job);
    if (home.empty()) {
      next->block();
      continue;
    }
    waiting_.pop(*next);
    set_affinity(home, view.jobs.gpus[job]);
    promise(home);
    tenants_.push_back({job, std::move(home)});
  }
}

// A home that crowds nobody, or none.
Gandiva::Home Gandiva::find_room(const View& view, const Plan& plan, JobId job) const {
  Home home = find_node(view, plan, job);
  const std::uint32_t gpus = view.jobs.gpus[job];
  const TypeMask types = view.jobs.types[job];
  for (Among among : {Among::kEmptyNodes, Among::kAllNodes}) {
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
      if (home.empty()) home = find_nodes(view, plan, among, gpus, types & type_bit(type));
    }
  }
  if (home.empty()) home = find_nodes(view, plan, Among::kAllNodes, gpus, types);
  return home;
}

// One node for the whole gang: of the same affinity the least loaded one, else an empty one, the
// smallest that will do, else the one with the least room.
Gandiva::Home Gandiva::find_node(const View& view, const Plan& plan, JobId job) const {
  const std::uint32_t gpus = view.jobs.gpus[job];
  std::tuple<int, std::int64_t, NodeId> best{3, 0, NodeId()};
  for (NodeId node : ids<NodeId>(view.cluster.nodes())) {
    const std::int64_t left = room(view, plan, node);
    if (left < gpus || (view.jobs.types[job] & type_bit(view.cluster.node_type[node])) == 0) {
      continue;
    }
    const Server& server = servers_[node];
    if (server.promised == 0) {
      best = std::min(best, {1, left, node});
    } else if (server.affinity == gpus) {
      best = std::min(best, {0, -left, node});
    } else {
      best = std::min(best, {2, left, node});
    }
  }
  const NodeId node = std::get<NodeId>(best);
  if (node.is_none()) return {};
  return {Slice{.node = node, .gpus = static_cast<std::uint16_t>(gpus)}};
}

// Several nodes, those with the most room first; none if they have too little together.
Gandiva::Home Gandiva::find_nodes(const View& view, const Plan& plan, Among among,
                                  std::uint32_t gpus, TypeMask types) const {
  Home home;
  std::uint32_t together = 0;
  for (NodeId node : ids<NodeId>(view.cluster.nodes())) {
    if ((types & type_bit(view.cluster.node_type[node])) == 0) continue;
    if (among == Among::kEmptyNodes && servers_[node].promised > 0) continue;
    const std::uint32_t left = room(view, plan, node);
    if (left == 0) continue;
    home.push_back({.node = node, .gpus = static_cast<std::uint16_t>(left)});
    together += left;
  }
  if (together < gpus) return {};
  std::ranges::stable_sort(home, std::ranges::greater(), &Slice::gpus);
  for (std::size_t used = 0; used < home.size(); ++used) {
    if (home[used].gpus >= gpus) {
      home[used].gpus = static_cast<std::uint16_t>(gpus);
      home.resize(used + 1);
      break;
    }
    gpus -= home[used].gpus;
  }
  std::ranges::sort(home, {}, &Slice::node);
  return home;
}

// The least crowded home of a job of the same gang size, on nodes of that affinity.
Gandiva::Home Gandiva::find_shared(const View& view, JobId job) const {
  const std::uint32_t gpus = view.jobs.gpus[job];
  const Home* best = nullptr;
  std::pair<double, NodeId> best_load;
  for (const Tenant& tenant : tenants_) {
    if (view.jobs.gpus[tenant.job] != gpus) continue;
    double load = 0;
    bool suits = true;
    for (Slice slice : tenant.home) {
      const Server& server = servers_[slice.node];
      const TypeMask type = type_bit(view.cluster.node_type[slice.node]);
      suits = suits && server.affinity == gpus && (view.jobs.types[job] & type) != 0;
      load = std::max(load, static_cast<double>(server.promised) /
                                static_cast<double>(view.cluster.node_gpus[slice.node]));
    }
    const std::pair at(load, tenant.home.front().node);
    if (!suits || (best != nullptr && best_load <= at)) continue;
    best = &tenant.home;
    best_load = at;
  }
  return best == nullptr ? Home() : *best;
}

std::uint32_t Gandiva::room(const View& view, const Plan& plan, NodeId node) const {
  const std::uint32_t gpus = plan.free().is_down(node) ? 0 : view.cluster.node_gpus[node];
  return gpus - std::min(gpus, servers_[node].promised);
}

bool Gandiva::is_crowded(const View& view, const Home& home) const {
  return std::ranges::any_of(home, [&](Slice slice) {
    return servers_[slice.node].promised > view.cluster.node_gpus[slice.node];
  });
}

// Jobs between turns move to where they need not take turns, and spread jobs onto fewer nodes.
void Gandiva::migrate(const View& view, Plan& plan) {
  for (Tenant& tenant : tenants_) {
    const JobId job = tenant.job;
    const bool waits = !plan.holds(job) && is_crowded(view, tenant.home);
    if (!waits && tenant.home.size() == 1) continue;
    withdraw(tenant.home);
    Home home = find_room(view, plan, job);
    if (!home.empty() && (waits || home.size() < tenant.home.size())) {
      if (plan.holds(job)) plan.stop(job);
      set_affinity(home, view.jobs.gpus[job]);
      tenant.home = std::move(home);
    }
    promise(tenant.home);
  }
}

// ---- turns ----

// Those who ran go behind those who waited.
void Gandiva::take_turns(Plan& plan) {
  std::stable_partition(tenants_.begin(), tenants_.end(),
                        [&](const Tenant& tenant) { return !plan.holds(tenant.job); });
  for (const Tenant& tenant : tenants_) {
    if (plan.holds(tenant.job)) plan.stop(tenant.job);
  }
}

// In order of turns. False if somebody must wait for a turn.
bool Gandiva::run_those_with_room(Plan& plan) const {
  bool all_run = true;
  for (const Tenant& tenant : tenants_) {
    if (plan.holds(tenant.job)) continue;
    const bool is_free = std::ranges::all_of(
        tenant.home, [&](Slice slice) { return plan.free().on(slice.node) >= slice.gpus; });
    all_run = all_run && is_free;
    if (!is_free) continue;
    for (Slice slice : tenant.home) plan.take(slice.node, slice.gpus);
    plan.place(tenant.job);
  }
  return all_run;
}

// ---- state ----

void Gandiva::save(Writer& writer) const {
  writer.u64(servers_.size());
  for (const Server& server : servers_) writer.u64(server.affinity);
  writer.u64(tenants_.size());
  for (const Tenant& tenant : tenants_) {
    writer.id(tenant.job);
    writer.u64(tenant.home.size());
    for (Slice slice : tenant.home) {
      writer.id(slice.node);
      writer.u64(slice.gpus);
    }
  }
  waiting_.save(writer);
}

void Gandiva::load(Reader& reader) {
  servers_.clear();
  tenants_.clear();
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    servers_.push_back({.affinity = reader.u32()});
  }
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    Tenant tenant{.job = reader.id<JobId>(), .home = {}};
    for (std::uint64_t slices = reader.u64(); slices > 0 && reader.ok(); --slices) {
      const auto node = reader.id<NodeId>();
      if (!servers_.has(node)) return reader.fail();
      tenant.home.push_back({.node = node, .gpus = static_cast<std::uint16_t>(reader.u32())});
    }
    promise(tenant.home);
    tenants_.push_back(std::move(tenant));
  }
  waiting_.load(reader);
}

constexpr OptionSpec kOptions[] = {
    {.name = "quantum",
     .type = OptionType::kInteger,
     .fallback = "60",
     .unit = "seconds",
     .min = 1,
     .max = 86400,
     .choices = "",
     .help = "How long a turn on a crowded node lasts; the default is the paper's."},
    {.name = "migrate",
     .type = OptionType::kFlag,
     .fallback = "true",
     .unit = "",
     .choices = "",
     .help = "When a job leaves, move spread jobs together, and jobs between turns to free GPUs."},
};

}  // namespace

const PolicyEntry kGandiva = {
    .name = "gandiva",
    .summary = "Jobs of one gang size share nodes and take turns; migration when jobs leave.",
    .paper = "Xiao et al., Gandiva, OSDI 2018",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Gandiva>(GandivaOptions{
          .quantum = seconds(options.integer("quantum")), .migrate = options.flag("migrate")});
    }};

}  // namespace fairlead
