// The audit: recomputes every GPU, gang and job from the journal alone, and reports
// inconsistencies.
//
// It shares no state with the engine. It checks that
//  1. no GPU is granted twice, and none on a node that is down or does not have it;
//  2. gangs are whole: sorted slices of distinct nodes, within what the job asks for; copies of a
//     job are placed together, on different nodes;
//  3. jobs go unseen -> waiting <-> running -> finished or failed, and only so;
//  4. a finish comes at the first millisecond at which the journalled rates have done the job's
//     work, and no running job outlives that moment: no work is lost or invented;
//  5. at the end every job is accounted for, as End says: also those never submitted.
//
// O(slices) per record. It never aborts: a damaged journal is a finding, not a bug.
#pragma once

#include "fairlead/journal/journal.h"
#include "fairlead/model/rate_history.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

class Audit : public RecordSink {
 public:
  void on(const Record& record) override;

  // What is wrong, in journal order; the first kProblemsMax of problem_count(). Empty: nothing.
  const std::vector<std::string>& problems() const { return problems_; }
  std::int64_t problem_count() const { return problem_count_; }
  // True once the end record came and nothing was wrong.
  bool passed() const { return ended_ && problem_count_ == 0; }

  static constexpr std::size_t kProblemsMax = 20;
  static constexpr std::size_t kJobsMax = std::size_t{1} << 24;  // a row is about 100 bytes

 private:
  enum class State : std::uint8_t { kUnseen, kWaiting, kRunning, kDone, kRejected, kUnsubmitted };
  struct Grant {
    NodeId node;
    std::uint64_t gpus;
  };
  struct AuditedJob {
    State state = State::kUnseen;
    std::uint32_t gpus_min = 0;
    std::uint32_t gpus_max = 0;
    Work left;
    Rate rate;
    Time progress_from;
    Time placed_at;
    std::uint32_t copies = 0;
    std::vector<Grant> grants;
  };
  struct AuditedNode {
    std::uint64_t gpus = 0;  // every GPU it has
    std::uint64_t busy = 0;
    bool down = false;
  };

  template <class... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args);
  AuditedJob* running(JobId job);
  void on_run(const record::Run& run);
  void on_node(const record::Node& node);
  void on_known(const record::Asked& asked, State state);
  void on_stop(JobId id, Duration lost);
  void on_done(JobId id, bool finished);
  void on_place(const record::Place& place);
  void on_node_change(NodeId id, bool down);
  void on_speed(const record::Speed& speed);
  void on_end(const JobCounts& counts);
  void grant(AuditedJob& job, const record::Place& place);
  void release(AuditedJob& job);
  void settle(AuditedJob& job, Time now);

  IdVector<JobId, AuditedJob> jobs_;
  IdVector<NodeId, AuditedNode> nodes_;
  RateHistory rates_;  // of running jobs
  JobCounts counts_;
  Time now_;
  bool begun_ = false;
  bool ended_ = false;
  std::vector<std::string> problems_;
  std::int64_t problem_count_ = 0;
};

}  // namespace fairlead
