// Explains why jobs of a recorded run waited: each wait in pieces, with one main cause each.
//
// A wait is a time without GPUs: from a submission, or the loss of a gang, to the next placement or the
// end of the job. Its pieces follow one another without gaps, so the waits of a finished job add up to
// its queue_s. The cause of a moment follows from the GPUs that were free then (explain/moment.h), from the
// policy's notes and, if the job fitted, from the next jobs to start.
//
// A record costs the same as in Moment, a moment O(watched jobs that wait).
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/explain/verdict.h"
#include "fairlead/journal/journal.h"
#include "fairlead/model/step.h"
#include "fairlead/replay/gpu_sums.h"
#include "fairlead/replay/wait_piece.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace fairlead {

enum class WaitBegin : std::uint8_t { kSubmitted, kStopped, kHeldBack, kEvicted, kStartFailed };

struct Wait {
  Time from;
  Time to;
  WaitBegin begin = WaitBegin::kSubmitted;
  StopCause cause = StopCause::kPolicy;  // cause of the stop, if a stop began it
  // The job for which it was stopped: by the policy's note or, with Watch::kRivals, the job that got its
  // GPUs then; none: not known.
  JobId stopped_for{};
  std::vector<WaitPiece> pieces{};
};

struct JobWaits {
  JobId job;
  CauseTimes causes{};
  std::vector<Wait> waits{};    // waits longer than 0; from Watch::kPieces on
  std::set<JobId> passed_by{};  // jobs that arrived later and were placed meanwhile; Watch::kRivals
};

// Returns the longest waits, at most `most`, by time. The pointers are into `job`.
std::vector<const Wait*> longest_waits(const JobWaits& job, std::size_t most);

// The details to collect for a job: nothing, its times by cause, its waits too, or also the jobs that
// went first.
enum class Watch : std::uint8_t { kNot, kTimes, kPieces, kRivals };

class Waits : public RecordSink {
 public:
  using Watches = std::function<Watch(const JobSpec&)>;
  // `watches` is called when a job arrives. `traits`: of a policy that the registry does not have; without
  // them, such a policy is assumed to place anywhere, at any time.
  explicit Waits(Watches watches, std::optional<PlacementTraits> traits = {})
      : watches_(std::move(watches)), own_traits_(traits) {}
  // Sets the limits of the run on tasks, which are in no journal. They must outlive this object. To be called before the
  // first record.
  void set_limits(const TaskLimits& limits) { tables_.jobs.limits = &limits; }

  // REQUIRES: records that a CheckedJournal passes on.
  void on(const Record& record) override;

  // Error: no cluster can have these nodes. All functions below require that there is no error, and that
  // End was passed.
  const Status& status() const { return status_; }
  const std::vector<JobWaits>& jobs() const { return jobs_; }  // in the order of their arrival
  const Tables& tables() const { return tables_; }
  const std::string& policy() const { return label_.policy; }
  const std::string& options() const { return label_.options; }
  Duration work(JobId job) const { return work_[job]; }
  Time end() const { return now_; }

 private:
  struct Label {
    std::string policy;
    std::string options;
  };
  // The present piece of a job's wait. A piece without a cause gets one when the next job is started.
  struct Open {
    Time from;
    std::optional<WhyCause> cause;
    JobId other;         // a job that arrived later, and was started when this piece started
    bool acted = false;  // some job was started then
    std::uint32_t hole = 0;
    GpuSums::Sums sums;
    LastNotes noted;
  };
  // A piece that the next started job did not explain. A job that is started later may.
  struct Unexplained {
    Time from;
    Duration length;
    std::size_t piece = 0;  // index into Watched::pieces, with details
  };
  struct Watched {
    JobId job;
    std::size_t row = 0;  // row in jobs_
    bool details = false;
    Time since;
    WaitBegin begin = WaitBegin::kSubmitted;
    StopCause cause = StopCause::kPolicy;
    Time timer;  // time until which its policy waits for GPUs nearer together
    std::optional<Open> open{};
    std::vector<WaitPiece> pieces{};
    std::vector<Unexplained> unexplained{};
    std::vector<std::pair<NodeId, std::uint64_t>> lost{};  // its GPUs, if it was stopped now
    JobId stopped_for{};
    LastNotes notes{};
  };
  struct Placed {
    JobId job;
    Time since;        // start of its wait
    bool lacked_room;  // it waited, and did not fit until now; only if is_pending_
  };
  struct User {
    UserNotes notes;
    LastNotes last{};
  };

  void move_on(Time to);
  void before(const Record& record);
  void after(const Record& record);
  void come(const JobSpec& asked);
  void begin_wait(JobId job, WaitBegin begin, StopCause cause = StopCause::kPolicy);
  void end_wait(JobId job);
  void leave(JobId job);
  void on_place(const record::Place& place);
  void on_note(const Note& note);
  void lose_gang(JobId job);

  void judge(Watched& watched, Time to);
  Status check(const record::Node& node) const;
  JobId later_placed(JobId job) const;
  std::pair<WhyCause, JobId> resolved(const Open& open, JobId job) const;
  void explain_late(Watched& watched);
  void close_piece(Watched& watched);
  void close_wait(Watched& watched);
  std::uint32_t together(TypeMask types) const;

  const Watches watches_;
  const std::optional<PlacementTraits> own_traits_;
  Tables tables_{Cluster()};
  Moment moment_{tables_};
  Label label_;
  Status status_;
  Time now_;
  std::vector<JobWaits> jobs_;
  IdVector<JobId, std::unique_ptr<Watched>> watched_;  // null: it is not, or is done
  std::set<JobId> waiting_;                            // waiting jobs among these
  std::set<JobId> rivalled_;                           // jobs with Watch::kRivals among these
  std::vector<JobId> ending_;                          // their waits, at this moment
  std::vector<JobId> leaving_;                         // are done, at this moment
  std::vector<Placed> placed_;                         // at this moment
  IdVector<JobId, Time> since_;                        // any job waits; never: it does not
  IdVector<JobId, Duration> work_;
  IdVector<UserId, User> users_;
  GpuSums sums_;
  bool is_pending_ =
      false;  // before this moment some job fitted, or had, and it is not known why it waits
};

}  // namespace fairlead
