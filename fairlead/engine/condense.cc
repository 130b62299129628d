#include "fairlead/engine/condense.h"

#include <algorithm>

namespace fairlead {
namespace {

JobSpec spec_of(const Tables& tables, JobId job) {
  JobSpec spec = tables.jobs.asked(job);
  spec.name = tables.names[job];
  if (const ModelId model = tables.jobs.model[job]; !model.is_none())
    spec.model = tables.models[model];
  return spec;
}

class Condensed {
 public:
  Condensed(const EngineState& state, RecordSink& sink)
      : tables_(state.tables),
        jobs_(state.tables.jobs),
        work_(state.work),
        now_(state.now),
        sink_(sink) {
    for (JobId job : ids<JobId>(jobs_.size())) {
      if (jobs_.is_here(job)) here_.push_back(job);
    }
  }

  void write_header(const RunLabel& label) {
    const Cluster& cluster = tables_.cluster;
    record::Run run = run_record(label, cluster);
    run.jobs = static_cast<std::uint32_t>(jobs_.size());
    sink_.on({Time{}, run});
    const Users& users = tables_.users;
    for (GroupId group : ids<GroupId>(users.groups.size())) {
      sink_.on({Time{}, group_record(users.groups, group)});
    }
    for (UserId user : ids<UserId>(users.size())) sink_.on({Time{}, user_record(users, user)});
    for (NodeId node : ids<NodeId>(cluster.nodes())) sink_.on({Time{}, node_record(cluster, node)});
  }

  // As they came.
  void write_arrivals() {
    std::vector<JobId> by_arrival = here_;
    // Policies may still look at rows of jobs that are done, which all lie before the last row.
    const JobId last = jobs_.size() == 0 ? JobId() : JobId(jobs_.size() - 1);
    if (jobs_.has(last) && !jobs_.is_here(last)) by_arrival.push_back(last);
    std::ranges::sort(by_arrival, {},
                      [&](JobId job) { return std::pair(jobs_.arrival[job], job); });
    for (JobId job : by_arrival) {
      sink_.on({jobs_.arrival[job], record::Arrived{spec_of(tables_, job)}});
    }
    for (JobId job : by_arrival) {
      if (!jobs_.is_here(job)) add(record::Cancelled{job});
    }
    for (JobId job : here_) {
      const RunId before = jobs_.run[job] - (is_placed(job) ? 1 : 0);
      add(record::Carried{job, before, tables_.ran(job, now_), work_.done(job)});
      const WorkLeft left = work_.left(job);
      if (left.source >= WorkSource::kDeclared) add(record::Reported{job, left.left});
      const bool was_pinned = jobs_.extras_of(job).pinned != kMayMove;
      if (jobs_.keeps_no_work(job) != was_pinned) add(record::Pinned{job, !was_pinned});
    }
  }

  void write_nodes() {
    for (NodeId node : ids<NodeId>(tables_.cluster.nodes())) {
      const Tables::NodeState& state = tables_.nodes[node];
      if (state.up != state.has) add(record::GpusDown{node, state.has & ~state.up});
    }
  }

  // A node may be cordoned, and GPUs closed, that were free after these.
  void write_cordons() {
    for (NodeId node : tables_.cordoned) add(record::Cordoned{node, "it was cordoned"});
    for (NodeId node : ids<NodeId>(tables_.cluster.nodes())) {
      const std::uint64_t closed = tables_.nodes[node].closed;
      if (closed != 0) add(record::Closed{node, closed});
    }
  }

  // Writes waiting jobs first: other jobs may now have the GPUs of their last gangs.
  void write_holds() {
    for (JobId job : here_) {
      if (jobs_.state[job] == JobState::kRunning) continue;
      if (is_placed(job)) {
        place(job, false);
        add(record::Stop{.job = job});
      }
      if (jobs_.state[job] == JobState::kHeld) add(record::Held{job});
    }
    for (JobId job : here_) {
      if (jobs_.state[job] != JobState::kRunning) continue;
      place(job, true);
      if (!jobs_.is_starting(job)) add(record::Started{job, {}});
    }
  }

  void add(const auto& what) { sink_.on({now_, what}); }

 private:
  // The gang that it has, or had last, is written. No GPU that is down can be allocated, not even for a
  // moment.
  bool is_placed(JobId job) const {
    if (!tables_.needs_gpus(job)) return jobs_.state[job] == JobState::kRunning;
    if (jobs_.last[job].empty()) return false;
    std::size_t i = 0;
    const auto masks = jobs_.gangs.gpu_masks(jobs_.last[job]);
    return std::ranges::all_of(jobs_.last_gang(job), [&](Slice slice) {
      return (tables_.nodes[slice.node].up & masks[i]) == masks[i] && ++i > 0;
    });
  }
  void place(JobId job, bool is_reported) {
    Gang left = jobs_.last_gang(job);
    auto masks = jobs_.gangs.gpu_masks(jobs_.last[job]);
    std::uint32_t copy = 0;
    do {  // once for the empty gang of a job that needs no GPU
      const Gang gang = first_copy(left);
      add(record::Place{.job = job,
                        .gang = gang,
                        .gpu_masks = masks.first(gang.size()),
                        .rate = {},
                        .is_reported = is_reported,
                        .copy = copy++});
      left = left.subspan(gang.size());
      masks = masks.subspan(gang.size());
    } while (!left.empty());
  }

  const Tables& tables_;
  const Jobs& jobs_;
  const KnownWork& work_;
  const Time now_;
  RecordSink& sink_;
  std::vector<JobId> here_;
};

}  // namespace

void condense(const EngineState& state, const RunLabel& label, const record::Snapshot& snapshot,
              RecordSink& sink) {
  Condensed condensed(state, sink);
  condensed.write_header(label);
  condensed.write_arrivals();
  condensed.write_nodes();
  condensed.write_holds();
  condensed.write_cordons();
  condensed.add(snapshot);
}

}  // namespace fairlead
