// The audit of life cycles and capacity, which hold in every world:
//  1. no GPU is granted twice, nor one that is down, closed, or not there;
//  2. gangs are whole: sorted slices of distinct nodes, within the sizes that the job asked for, and
//     no task is split; copies of a job are placed together, on different nodes;
//  3. jobs go unseen -> waiting <-> running -> finished or failed, and only so; from waiting or
//     running, and back to waiting, also to held;
//  4. where the world reports them, starts and stops are confirmed at most once;
//  5. a pinned job returns to the very GPUs of its last run, unless it lost them;
//  6. at the end the counts of End match all jobs, also the jobs that were never submitted.
//
// O(slices) per record; O(log runs that are stopping) where the world reports stops.
#pragma once

#include "fairlead/journal/audit_problems.h"
#include "fairlead/journal/journal.h"

#include <set>
#include <utility>
#include <vector>

namespace fairlead {

class LifeCycleAudit {
 public:
  // `problems` must outlive it.
  explicit LifeCycleAudit(AuditProblems& problems) : problems_(problems) {}

  void on(const Record& record);
  bool ended() const { return ended_; }

 private:
  enum class State : std::uint8_t {
    kUnseen,
    kWaiting,
    kRunning,
    kHeld,
    kDone,
    kRejected,
    kUnsubmitted
  };
  struct Grant {
    NodeId node;
    std::uint64_t gpus;
    friend bool operator==(Grant, Grant) = default;
  };
  struct AuditedJob {
    State state = State::kUnseen;
    bool is_starting = false;  // Started or StartFailed must follow
    std::uint32_t gpus_min = 0;
    std::uint32_t gpus_max = 0;
    std::uint32_t task_gpus = 1;
    JobExtras extras{};
    bool is_pinned = false;
    Level required = kAnywhere;
    Time placed_at;
    std::uint32_t copies = 0;
    RunId run = 0;
    std::vector<Grant> grants;
    std::vector<Grant> last;  // the GPUs of the run before, if its state is still there
  };
  struct AuditedNode {
    std::uint64_t gpus = 0;  // every GPU it has
    HostId host{};
    RackId rack{};
    std::uint64_t busy = 0;  // allocated
    std::uint64_t down = 0;
    bool is_cordoned = false;
    std::uint64_t closed = 0;
  };

  template <class... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    problems_.add(now_, format, std::forward<Args>(args)...);
  }
  AuditedJob* running(JobId job);
  void on_run(const record::Run& run);
  void on_node(const record::Node& node);
  void on_known(const JobSpec& asked, State state);
  void on_job_run_end(JobId job, State next);
  void forget_gang(JobId job);
  void on_done(JobId job, bool finished);
  void on_stop(const record::Stop& stop);
  void on_place(const record::Place& place);
  void check_level(const AuditedJob& job, const record::Place& place);
  void on_started(JobId job);
  void on_stopped(JobId job, RunId run, bool is_over);
  void on_carried(const record::Carried& carried);
  void on_pinned(const record::Pinned& pinned);
  void on_held(JobId job);
  void on_released(JobId job);
  void on_gpus_down(const record::GpusDown& down);
  void on_gpus_up(const record::GpusUp& up);
  void on_cordon(NodeId node, bool is_cordoned);
  void on_closed(const record::Closed& closed);
  void on_end(const JobCounts& counts);
  void grant(AuditedJob& job, const record::Place& place);
  void release(AuditedJob& job);

  AuditProblems& problems_;
  IdVector<JobId, AuditedJob> jobs_;
  IdVector<NodeId, AuditedNode> nodes_;
  std::set<std::pair<JobId, RunId>> stopping_;
  JobCounts counts_;
  Time now_;
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace fairlead
