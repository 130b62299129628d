#include "fairlead/policy/gandiva_fair/homes.h"

#include <algorithm>

namespace fairlead {
namespace {

using ByLoad = IdVector<GpuTypeId, IndexedHeap<double, NodeId>>;

void set_load(ByLoad& by_load, NodeId node, Homes::Node& books, double load) {
  if (load == books.load) return;
  books.load = load;
  by_load[books.type].set(node, load);
}

}  // namespace

// --- Nodes ------------------------------------------------------------------------------------

void Homes::begin(const View& view, const Plan& plan) {
  now_ = view.now;
  const std::size_t types = view.cluster.type_names.size();
  kept_.grow(view.users.size() * types);
  if (residences_.size() < view.jobs.size()) residences_.resize(view.jobs.size());
  if (spare_ && nodes_.size() == view.cluster.nodes()) return;
  nodes_of_type_.resize(types);
  by_load_.resize(types);
  type_gpus_.resize(types);
  // State that follows from the cluster and the nodes' states, which may have been loaded.
  if (!spare_) {
    spare_.emplace(view.cluster);
    for (NodeId node : ids<NodeId>(nodes_.size())) enter_node(view, node);
  }
  slot_.resize(view.cluster.nodes());
  is_touched_.resize(view.cluster.nodes());
  while (nodes_.size() < view.cluster.nodes()) {
    if (!spare_->has(NodeId(nodes_.size()))) spare_->add_node();
    const NodeId node = nodes_.push_back({});
    const std::uint32_t gpus = plan.free().capacity(node);
    nodes_[node].gpus = gpus > 0 ? gpus : view.cluster.node_gpus[node];
    nodes_[node].is_down = gpus == 0;
    enter_node(view, node);
  }
  for (GpuTypeId type : ids<GpuTypeId>(types)) accounts_.set_capacity(type, type_gpus_[type]);
}

void Homes::enter_node(const View& view, NodeId node) {
  Node& books = nodes_[node];
  const GpuTypeId type = view.cluster.node_type[node];
  nodes_of_type_[type].push_back(node);
  books.type = type;
  by_load_[type].set(node, books.load);
  spare_->set_gpus(node, books.usable());
  if (books.is_down) return;
  if (books.wanted > 0) spare_->take(node, std::min(books.wanted, books.gpus));
  type_gpus_[type] += books.gpus;
}

void Homes::resize(const View& view, NodeId node, std::uint32_t gpus) {
  Node& books = nodes_[node];
  FL_CHECK(books.wanted == 0, "node {} keeps jobs and gets other GPUs", node.row());
  const GpuTypeId type = view.cluster.node_type[node];
  const std::uint32_t before = books.usable();
  spare_->set_gpus(node, gpus);
  books.is_down = gpus == 0;
  if (gpus > 0) books.gpus = gpus;
  type_gpus_[type] += std::int64_t{gpus} - before;
  accounts_.set_capacity(type, type_gpus_[type]);
}

bool Homes::has_room(NodeId node, std::uint32_t gpus, std::uint32_t less) const {
  const Node& books = nodes_[node];
  return gpus <= books.usable() &&
         books.wanted - less + gpus <= options_.node_jobs_per_gpu_max * books.gpus;
}

void Homes::list_jobs(NodeId node, std::vector<JobId>& jobs) const {
  jobs = nodes_[node].spreads;
  for (const StrideClient& client : nodes_[node].queue) jobs.push_back(client.job);
}

// --- What is asked of a node ------------------------------------------------------------------

Need Homes::Spread::need_on(NodeId node) const {
  const auto slice = std::ranges::find(slices, node, &Slice::node);
  return {slice->gpus, std::min(1.0, client.tickets / client.gpus)};
}

Tiling Homes::tiling(NodeId node, JobId without) const {
  const Node& books = nodes_[node];
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
  Node& books = nodes_[node];
  residences_[job].node = node;
  keep(view, job, view.cluster.node_type[node]);
  StrideClient client = new_client(view, job);
  client.pass = (books.queue.empty() ? clock() : mean_pass(books.queue)) + lead;
  books.queue.push_back(client);
  want(node, client.gpus);
  set_load(by_load_, node, books,
           books.load + std::min<double>(client.gpus, client.tickets) / books.gpus);
  touch(node);
}

void Homes::spread_out(const View& view, JobId job, std::span<const Slice> slices) {
  residences_[job].spread = static_cast<std::uint32_t>(spreads_.size());
  keep(view, job, view.cluster.node_type[slices.front().node]);
  Spread spread;
  spread.slices.assign(slices.begin(), slices.end());
  spread.client = new_client(view, job);
  spread.client.pass = clock();
  const StrideClient client = spread.client;
  spreads_.push_back(std::move(spread));
  ++spread_waits_;
  for (Slice slice : spreads_.back().slices) {
    Node& books = nodes_[slice.node];
    books.spreads.push_back(job);
    want(slice.node, slice.gpus);
    set_load(
        by_load_, slice.node, books,
        books.load + std::min<double>(1, client.tickets / client.gpus) * slice.gpus / books.gpus);
    touch(slice.node);
  }
}

// --- Moving out -------------------------------------------------------------------------------

void Homes::move_out(const View& view, JobId job) {
  Residence& residence = residences_[job];
  const UserId user = view.jobs.user[job];
  accounts_.drop(user, residence.type, view.jobs.gpus[job]);
  kept_.erase(list(user, residence.type), job);
  if (residence.is_spread()) {
    leave_spread(job);
  } else {
    leave_node(job, residence.node);
  }
  residence.node = NodeId();
  residence.type = GpuTypeId();
}

void Homes::leave_node(JobId job, NodeId node) {
  Node& books = nodes_[node];
  const auto at = std::ranges::find(books.queue, job, &StrideClient::job);
  FL_CHECK(at != books.queue.end(), "job {} is not on its node", job.row());
  const StrideClient client = *at;
  books.queue.erase(at);
  want(node, -std::int64_t{client.gpus});
  set_load(by_load_, node, books,
           books.load - std::min<double>(client.gpus, client.tickets) / books.gpus);
  touch(node);
}

void Homes::leave_spread(JobId job) {
  Residence& residence = residences_[job];
  for (Slice slice : spreads_[residence.spread].slices) {
    std::erase(nodes_[slice.node].spreads, job);
    want(slice.node, -std::int64_t{slice.gpus});
    touch(slice.node);
  }
  if (!residence.runs) --spread_waits_;
  std::swap(spreads_[residence.spread], spreads_.back());
  residences_[spreads_[residence.spread].client.job].spread = residence.spread;
  spreads_.pop_back();
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
  if (residence.is_spread()) spread_waits_ += runs ? -1U : 1U;
  const std::int64_t gpus = view.jobs.gpus[job];
  accounts_.add_allocated(view.now, view.jobs.user[job], of(job).type, runs ? gpus : -gpus);
}

// --- The books of a node ----------------------------------------------------------------------

// Adds (negative: subtracts) GPUs that the node's jobs need.
void Homes::want(NodeId node, std::int64_t gpus) {
  Node& books = nodes_[node];
  const std::uint32_t has = books.gpus;
  const std::uint32_t before = std::min(books.wanted, has);
  books.wanted = static_cast<std::uint32_t>(books.wanted + gpus);
  const std::uint32_t after = std::min(books.wanted, has);
  if (after > before) spare_->take(node, after - before);
  if (after < before) spare_->give(node, before - after);
  if (books.is_contended != (books.wanted > has)) set_contended(node, !books.is_contended);
}

void Homes::set_contended(NodeId node, bool is_contended) {
  nodes_[node].is_contended = is_contended;
  if (is_contended) {
    slot_[node] = static_cast<std::uint32_t>(contended_.size());
    contended_.push_back(node);
    return begin_turns(nodes_[node]);
  }
  const std::uint32_t slot = slot_[node];
  contended_[slot] = contended_.back();
  slot_[contended_[slot]] = slot;
  contended_.pop_back();
}

// All were served alike until now, so they start alike, and owe nothing.
void Homes::begin_turns(Node& books) {
  for (StrideClient& client : books.queue) {
    client.pass = clock();
    residences_[client.job].since = now_;
  }
}

void Homes::touch(NodeId node) {
  if (is_touched_[node] != 0) return;
  is_touched_[node] = 1;
  touched_.push_back(node);
}

void Homes::forget_touched() {
  for (NodeId node : touched_) is_touched_[node] = 0;
  touched_.clear();
}

// --- Passes and tickets -----------------------------------------------------------------------

double Homes::quanta_since(JobId job) const {
  return static_cast<double>((now_ - residences_[job].since).ms) /
         static_cast<double>(options_.quantum.ms);
}

void Homes::charge() {
  for (NodeId node : contended_) {
    for (StrideClient& client : nodes_[node].queue) pay(client);
  }
  for (Spread& spread : spreads_) pay(spread.client);
}

void Homes::pay(StrideClient& client) {
  Residence& residence = residences_[client.job];
  if (!residence.runs) return;
  fairlead::charge(client, quanta_since(client.job));
  residence.since = now_;
}

void Homes::refresh(const View& view, NodeId node) {
  Node& books = nodes_[node];
  const double mean = mean_pass(books.queue);
  double due = 0;
  for (StrideClient& client : books.queue) {
    set_tickets(client, tickets_of(view, client.job), mean);
    due += std::min<double>(client.gpus, client.tickets);
  }
  for (JobId job : books.spreads) {
    const Need need = spread(job).need_on(node);
    due += need.gpus * need.time;
  }
  set_load(by_load_, node, books, due / books.gpus);
}

void Homes::refresh(const View& view) {
  for (NodeId node : contended_) refresh(view, node);
  for (Spread& spread : spreads_) {
    set_tickets(spread.client, tickets_of(view, spread.client.job), clock());
  }
}

}  // namespace fairlead
