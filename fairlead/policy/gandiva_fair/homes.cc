#include "fairlead/policy/gandiva_fair/homes.h"

#include <algorithm>

namespace fairlead {

void Homes::begin(const View& view, const Plan& plan) {
  now_ = view.now;
  const std::size_t types = view.cluster.type_names.size();
  kept_.grow(view.users.size() * types);
  if (residences_.size() < view.jobs.size()) residences_.resize(view.jobs.size());
  if (!nodes_.begin(view.cluster, plan.free())) return;
  for (GpuTypeId type : ids<GpuTypeId>(types)) {
    accounts_.set_capacity(type, nodes_.gpus_of_type(type));
  }
}

void Homes::resize(NodeId node, std::uint32_t gpus) {
  nodes_.resize(node, gpus);
  const GpuTypeId type = nodes_[node].type;
  accounts_.set_capacity(type, nodes_.gpus_of_type(type));
}

// --- The needs of a node ----------------------------------------------------------------------

void Homes::list_jobs(NodeId node, std::vector<JobId>& jobs) const {
  jobs = nodes_[node].spreads;
  for (const StrideClient& client : nodes_[node].queue) jobs.push_back(client.job);
}

Tiling Homes::tiling(NodeId node, JobId without) const {
  const NodeBooks::Node& books = nodes_[node];
  Tiling tiling(books.gpus);
  for (const StrideClient& client : books.queue) {
    if (client.job != without) tiling.add(need_of(client));
  }
  for (JobId job : books.spreads) tiling.add(spread(job).need_on(node));
  return tiling;
}

double Homes::spread_time(NodeId node) const {
  double time = 0;
  for (JobId job : nodes_[node].spreads) time += spread(job).need_on(node).time;
  return time;
}

// --- Moving in --------------------------------------------------------------------------------

void Homes::move_in(const View& view, JobId job, Home home, double lead) {
  if (home.node.is_none()) return spread_out(view, job, home.slices);
  settle_on_node(view, job, home.node, lead);
}

void Homes::keep(const View& view, JobId job, GpuTypeId type) {
  const UserId user = view.jobs.user[job];
  residences_[job].type = type;
  residences_[job].since = view.now;
  accounts_.keep(user, type, view.jobs.gpus[job]);
  kept_.push_back(list(user, type), job);
}

StrideClient Homes::new_client(const View& view, JobId job) {
  StrideClient client;
  client.gpus = view.jobs.gpus[job];
  client.job = job;
  client.order = next_order_++;
  client.tickets = tickets_of(view, job);
  return client;
}

double Homes::tickets_of(const View& view, JobId job) const {
  return accounts_.tickets_of_job(view.jobs.user[job], residences_[job].type, view.jobs.gpus[job]);
}

void Homes::settle_on_node(const View& view, JobId job, NodeId node, double lead) {
  residences_[job].node = node;
  keep(view, job, view.cluster.node_type[node]);
  StrideClient client = new_client(view, job);
  const std::vector<StrideClient>& queue = nodes_[node].queue;
  client.pass = (queue.empty() ? clock() : mean_pass(queue)) + lead;
  if (nodes_.add(node, client)) begin_turns(node);
}

void Homes::spread_out(const View& view, JobId job, std::span<const Slice> slices) {
  keep(view, job, view.cluster.node_type[slices.front().node]);
  StrideClient client = new_client(view, job);
  client.pass = clock();
  residences_[job].spread = spreads_.add({client, {slices.begin(), slices.end()}});
  const double time = need_of(client).time;
  for (Slice slice : spread(job).slices) {
    if (nodes_.add_slice(slice, job, time)) begin_turns(slice.node);
  }
}

// --- Moving out -------------------------------------------------------------------------------

void Homes::move_out(const View& view, JobId job) {
  Residence& residence = residences_[job];
  const UserId user = view.jobs.user[job];
  accounts_.drop(user, residence.type, view.jobs.gpus[job]);
  kept_.erase(list(user, residence.type), job);
  if (residence.is_spread()) {
    leave_slices(job);
  } else {
    nodes_.remove(residence.node, job);
  }
  residence.node = NodeId();
  residence.type = GpuTypeId();
}

void Homes::leave_slices(JobId job) {
  Residence& residence = residences_[job];
  for (Slice slice : spread(job).slices) nodes_.remove_slice(slice, job);
  const JobId moved = spreads_.remove(residence.spread, residence.runs);
  residences_[moved].spread = residence.spread;
  residence.spread = Residence::kNotSpread;
}

void Homes::move(const View& view, JobId job, Home home) {
  const Residence before = residences_[job];
  if (before.is_spread()) {
    move_out(view, job);
    return move_in(view, job, home);
  }
  const std::vector<StrideClient>& queue = nodes_[before.node].queue;
  const double pass = std::ranges::find(queue, job, &StrideClient::job)->pass;
  move_out(view, job);
  move_in(view, job, home, pass - mean_pass(queue));
  residences_[job].since = before.since;
}

void Homes::set_runs(const View& view, JobId job, bool runs) {
  Residence& residence = residences_[job];
  residence.runs = runs;
  residence.since = view.now;
  if (residence.is_spread()) spreads_.count_gpus(runs);
  const std::int64_t gpus = view.jobs.gpus[job];
  accounts_.add_allocated(view.now, view.jobs.user[job], of(job).type, runs ? gpus : -gpus);
}

// --- Passes and tickets -----------------------------------------------------------------------

// All were served alike until now, so they start alike, and owe nothing.
void Homes::begin_turns(NodeId node) {
  for (StrideClient& client : nodes_.queue(node)) {
    client.pass = clock();
    residences_[client.job].since = now_;
  }
}

double Homes::quanta_since(JobId job) const {
  return static_cast<double>((now_ - residences_[job].since).ms) / static_cast<double>(quantum_.ms);
}

void Homes::charge() {
  for (NodeId node : nodes_.contended()) {
    for (StrideClient& client : nodes_.queue(node)) pay(client);
  }
  for (std::uint32_t row = 0; row < spreads_.size(); ++row) pay(spreads_.client(row));
}

void Homes::pay(StrideClient& client) {
  Residence& residence = residences_[client.job];
  if (!residence.runs) return;
  fairlead::charge(client, quanta_since(client.job));
  residence.since = now_;
}

void Homes::refresh(const View& view, NodeId node) {
  const NodeBooks::Node& books = nodes_[node];
  const double mean = mean_pass(books.queue);
  double due = 0;
  for (StrideClient& client : nodes_.queue(node)) {
    set_tickets(client, tickets_of(view, client.job), mean);
    due += std::min<double>(client.gpus, client.tickets);
  }
  for (JobId job : books.spreads) {
    const Need need = spread(job).need_on(node);
    due += need.gpus * need.time;
  }
  nodes_.set_load(node, due / books.gpus);
}

void Homes::refresh(const View& view) {
  for (NodeId node : nodes_.contended()) refresh(view, node);
  for (std::uint32_t row = 0; row < spreads_.size(); ++row) {
    StrideClient& client = spreads_.client(row);
    set_tickets(client, tickets_of(view, client.job), clock());
  }
}

// --- Saving and loading -----------------------------------------------------------------------

void Homes::fields(Archive& archive) {
  archive(next_order_, nodes_, spreads_);
  archive_residences(archive);
}

void Homes::archive_residences(Archive& archive) {
  const Entitlements& due = accounts_.due();
  const std::size_t lists = due.users() * due.types();
  if (archive.reads()) kept_ = JobLists(lists);
  for (std::size_t list = 0; list < lists && archive.ok(); ++list) {
    archive.ids(kept_.jobs(list), [&](JobId job) {
      Residence& residence = residences_.grow_to(job);
      archive(residence);
      if (!archive.reads()) return;
      kept_.push_back(list, job);
      if (residence.is_spread() && !residence.runs) spreads_.count_gpus(false);
    });
  }
}

}  // namespace fairlead
