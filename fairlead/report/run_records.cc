#include "fairlead/report/run_records.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fairlead {
namespace {

// As fine as the pictures, however short the run is.
constexpr TimelineOptions kTimeline = {.bin = seconds(1), .bins_max = DoublingBins::kBinsMax};

}  // namespace

RunRecords::RunRecords(const ReportLimits& limits)
    : users_max_(limits.users),
      metrics_(kTimeline),
      run_pieces_(limits.run_pieces),
      notes_(limits.notes) {}

void RunRecords::on(const Record& record) {
  metrics_.on(record);
  const Time t = record.t;
  std::visit(Overloaded{
                 [&](const record::Run& run) {
                   cluster_name_ = run.cluster;
                   open_.reserve(run.jobs);
                 },
                 [&](const record::Node& node) { on_node(t, node); },
                 [&](const record::Arrived& arrived) {
                   open_.grow_to(arrived.asked.job);
                   settled_.grow_to(arrived.asked.job);
                   if (!arrived_) fragmented_.begin(t);
                   if (!arrived_) lost_.begin(t);
                   arrived_ = true;
                 },
                 [&](const record::Place& place) { on_place(t, place); },
                 [&](const record::Speed& speed) { settle_lost(speed.job, t); },
                 [&](const OneOf<record::Stop, record::Evicted, record::StartFailed> auto& stop) {
                   on_job_run_end(stop.job, t);
                 },
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& done) {
                   last_leave_ = t;
                   on_job_run_end(done.job, t);
                   open_[done.job] = {};
                 },
                 [&](const ChangesUsableGpus auto& change) { on_usable(t, change); },
                 [&](const Note& note) { notes_.add(t, note); },
                 [&](const record::End& end) { on_end(t, end.counts); },
                 [](const auto&) {},
             },
             record.what);
}

void RunRecords::on_node(Time t, const record::Node& node) {
  nodes_.push_back({.name = std::string(node.name),
                    .rack = node.rack,
                    .type = node.type,
                    .gpus = node.gpus,
                    .first_gpu = gpus_});
  node_host_.push_back(node.host);
  node_rack_.push_back(node.rack);
  racks_ = std::max<std::size_t>(racks_, node.rack.row() + 1);
  rack_lost_gpu_ms_.grow_to(node.rack);
  gpus_ += node.gpus;
  usable_.on(node);
  note_up(t);
}

void RunRecords::on_usable(Time t, const auto& change) {
  fragmented_.add(t, -fragmented(change.node));
  usable_.on(change);
  fragmented_.add(t, fragmented(change.node));
  note_up(t);
}

void RunRecords::note_up(Time t) {
  if (up_.empty() || up_.back().since != t) up_.push_back({.since = t});
  up_.back().gpus = usable_.total();
}

// Returns the free GPUs of a node that also has gangs.
std::int64_t RunRecords::fragmented(NodeId node) const {
  const std::uint32_t allocated = nodes_[node].allocated;
  return allocated > 0 ? usable_.of(node) - allocated : 0;
}

void RunRecords::on_place(Time t, const record::Place& place) {
  settled_[place.job].at = t;
  const Tier tier = tier_of(place.gang, node_host_, node_rack_);
  for (std::size_t i = 0; i < place.gang.size(); ++i) {
    const NodeId node = place.gang[i].node;
    add_allocated(t, node, place.gang[i].gpus);
    // Adds one piece per run of ones in the mask.
    std::uint64_t mask = place.gpu_masks[i];
    for (int at = 0; mask != 0;) {
      const int skipped = std::countr_zero(mask);
      at += skipped;
      mask >>= skipped;
      const int length = std::countr_one(mask);
      open_[place.job].push_back({node,
                                  {.job = place.job,
                                   .gpu = nodes_[node].first_gpu + static_cast<std::uint32_t>(at),
                                   .gpus = static_cast<std::uint16_t>(length),
                                   .tier = tier,
                                   .begin = t}});
      at += length;
      mask = length == 64 ? 0 : mask >> length;
    }
  }
}

void RunRecords::on_job_run_end(JobId job, Time t) {
  settle_lost(job, t);
  for (Open& open : open_[job]) {
    add_allocated(t, open.node, -std::int64_t{open.piece.gpus});
    open.piece.end = t;
    run_pieces_.add(open.piece);
  }
  open_[job].clear();
}

// Settles the job's losses since the last call; Metrics has taken the record already.
void RunRecords::settle_lost(JobId job, Time t) {
  Settled& settled = settled_[job];
  const double lost_gpu_ms = jobs().lost_gpu_ms[job] - settled.lost_gpu_ms;
  if (lost_gpu_ms > 0 && t > settled.at) {
    constexpr double kMillion = 1e6;
    const auto time_ms = static_cast<double>((t - settled.at).ms);
    lost_.add(settled.at, t, std::llround(kMillion * lost_gpu_ms / time_ms));
    double gpus = 0;
    for (const Open& open : open_[job]) gpus += open.piece.gpus;
    for (const Open& open : open_[job]) {
      rack_lost_gpu_ms_[nodes_[open.node].rack] += lost_gpu_ms * open.piece.gpus / gpus;
    }
  }
  settled = {t, jobs().lost_gpu_ms[job]};
}

void RunRecords::add_allocated(Time t, NodeId node, std::int64_t gpus) {
  fragmented_.add(t, -fragmented(node));
  nodes_[node].allocated = static_cast<std::uint32_t>(nodes_[node].allocated + gpus);
  fragmented_.add(t, fragmented(node));
}

void RunRecords::on_end(Time t, const JobCounts& counts) {
  end_ = counts.pending > 0 ? t : last_leave_;
  fragmented_.settle(t);
  for (JobId job : ids<JobId>(open_.size())) on_job_run_end(job, t);
  open_.clear();
  run_pieces_.finish();
}

Time RunRecords::first_submission() const {
  Time first = Time::never();
  for (JobId job : ids<JobId>(jobs().size())) {
    if (jobs().was_submitted(job)) first = std::min(first, jobs().submit[job]);
  }
  return first == Time::never() ? Time{} : first;
}

std::vector<UserId> RunRecords::users_shown() const {
  IdVector<UserId, GpuTime> allocated(user_names().size());
  for (const TimelineRow& row : metrics_.timeline().rows()) allocated[row.user] += row.allocated;
  std::vector<UserId> users;
  for (UserId user : ids<UserId>(allocated.size())) users.push_back(user);
  std::ranges::stable_sort(users, std::ranges::greater(),
                           [&](UserId user) { return allocated[user]; });
  users.resize(std::min(users.size(), users_max_));
  return users;
}

RunLoad RunRecords::load() const {
  const Time origin = first_submission();
  const TimeGrid grid(origin, std::max(origin, end_));
  const std::vector<double> zeros(grid.bins());
  RunLoad load = {.bin = grid.width(),
                  .gpus_allocated = zeros,
                  .gpus_up = zeros,
                  .gpus_fragmented = zeros,
                  .jobs_running = zeros,
                  .jobs_waiting = zeros,
                  .shares = {},
                  .gpus_lost = zeros};
  constexpr std::size_t kHidden = ~std::size_t{0};
  IdVector<UserId, std::size_t> share_of(user_names().size(), kHidden);
  for (UserId user : users_shown()) {
    share_of[user] = load.shares.size();
    load.shares.push_back({user, zeros, zeros});
  }

  const Timeline& timeline = metrics_.timeline();
  for (const TimelineRow& row : timeline.rows()) {
    const Time from = timeline.start(row.bin);
    const Time to = from + timeline.duration(row.bin);
    const auto allocated_gpu_ms = static_cast<double>(row.allocated.gpu_ms);
    if (to <= from) continue;
    grid.spread(load.gpus_allocated, from, to, allocated_gpu_ms);
    grid.spread(load.jobs_running, from, to, static_cast<double>(row.running_job_ms));
    grid.spread(load.jobs_waiting, from, to, static_cast<double>(row.waiting_job_ms));
    if (share_of[row.user] == kHidden) continue;
    RunLoad::Share& share = load.shares[share_of[row.user]];
    grid.spread(share.allocated, from, to, allocated_gpu_ms);
    grid.spread(share.entitled, from, to, row.entitled_gpu_ms);
  }
  fragmented_.bins().spread_to(grid, load.gpus_fragmented);
  lost_.spread_to(grid, load.gpus_lost);
  for (double& gpus : load.gpus_lost) gpus /= 1e6;
  for (std::size_t i = 0; i < up_.size(); ++i) {
    const Time to = i + 1 < up_.size() ? up_[i + 1].since : end_;
    if (to <= up_[i].since) continue;
    grid.spread(load.gpus_up, up_[i].since, to,
                static_cast<double>(up_[i].gpus) * static_cast<double>((to - up_[i].since).ms));
  }
  for (auto* amounts : {&load.gpus_allocated, &load.gpus_up, &load.gpus_fragmented,
                        &load.jobs_running, &load.jobs_waiting, &load.gpus_lost}) {
    grid.divide_by_time(*amounts);
  }
  for (RunLoad::Share& share : load.shares) {
    grid.divide_by_time(share.allocated);
    grid.divide_by_time(share.entitled);
  }
  return load;
}

}  // namespace fairlead
