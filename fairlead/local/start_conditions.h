// The conditions under which jobs may have GPUs: their users' holds, the jobs that they start after, the order and the
// limit of each user's jobs (engine/start_order.h), the limits of groups (local/group_order.h), urgent jobs, room in the
// memory of GPUs, and room on the machine. A job that does not meet them is held.
//
// Urgent jobs have the order of a user's jobs among the jobs of all users: while one waits, no job that is not urgent has
// GPUs.
//
// Nothing else holds jobs, except the engine after a failed start. So the journal has the effect of all conditions, and
// the conditions follow from the files of the submissions, the limits and the tables, also after a restart
// (docs/decisions/0055-a-job-that-waits-for-others-is-held.md, 0056-priorities-and-limits-are-holds.md).
#pragma once

#include "fairlead/engine/inbox.h"
#include "fairlead/engine/tables.h"
#include "fairlead/engine/user_order.h"
#include "fairlead/io/io.h"
#include "fairlead/journal/journal.h"
#include "fairlead/local/gpu_limits.h"
#include "fairlead/local/group_order.h"
#include "fairlead/local/submission.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {

class StartConditions : public RecordSink {
 public:
  // REQUIRES: the arguments outlive this.
  StartConditions(Io& io, const Tables& tables, Inbox& inbox)
      : io_(io),
        tables_(tables),
        inbox_(inbox),
        limits_(io, "limits"),
        group_limits_(io, "group-limits") {}

  // Reads the limits: GpuLimits::load(). REQUIRES: called before the first add().
  Status load();

  // Adds a job of the tables, or a new one, whose arrival must be in the next batch. The submission must stay in place until
  // remove().
  void add(JobId job, Submission& what);
  void add_new(const JobSpec& asked, Submission& what);
  void remove(JobId job);
  // Returns the condition that keeps the job waiting, other than its user's hold, within a sentence: "after job 12", for "it
  // starts after job 12". Empty: there is none, or the job was not added. O(jobs of the conditions).
  std::string text(JobId job) const;
  // Holds a job, or ends this; a release also ends the pause after a failed start. The next batch has the effect. Error: the
  // disk takes no more, and nothing was changed. REQUIRES: the job was added.
  Status set_held(JobId job, bool is_held);
  // Changes the priority of a job. The next update() has the effect. Error: the same. REQUIRES: the job was added.
  Status set_priority(JobId job, Priority priority);
  // The room that a job needs: memory of each GPU, memory of the machine, processors for a job without GPUs, or GPUs that
  // are not reserved.
  enum class Room : std::uint8_t { kGpus, kHost, kProcessors, kReserved };
  // Notes whether the room that the job states is there. `by`: the job that gets it first; none: the job is next. The next
  // update() has the effect. Ignores a job that was not added.
  void set_has_room(JobId job, Room where, bool has_room, JobId by = {});
  // Returns whether no other condition than room on the machine keeps the job waiting. False if the job was not added.
  bool needs_only_the_machine(JobId job) const;
  // Called when the limits on tasks have changed. The next update() has the effect.
  void on_limits() { on_gpus(); }
  // Sets GpuLimits::set_gpus_max() of a user, or of a group of accounts. The next batch has the effect. Error: the same.
  Status set_gpus_max(std::string_view user, std::uint32_t gpus_max);
  Status set_group_gpus_max(std::string_view group, std::uint32_t gpus_max);
  const GpuLimits& limits() const { return limits_; }
  struct Group {
    JobLimit limit;
    std::vector<UserId> users{};  // users in the tables that have jobs here
  };
  // Returns the groups with a limit, by name. The groups of a user are looked up when the user's first job comes, when the
  // limit of a group is set, and when the daemon starts. O(groups x users).
  std::vector<Group> groups() const;

  // A record must be applied to the tables before it comes here.
  void on(const Record& record) override;
  // Returns whether update() may have something to do.
  bool is_due() const {
    return !due_.empty() || !users_due_.empty() || groups_due_ || urgent_due_ ||
           (has_ends_ && !dependent_.empty());
  }
  // Holds and releases jobs by their conditions, and cancels jobs with conditions that cannot be met any more. REQUIRES: all
  // requests of the next batch are known. O(jobs with conditions on others x conditions) after an end, O(jobs log) of a user
  // with priorities or a limit after a change of one of them, group_order() after a change of a job of a limited group, the
  // same for all jobs while one is urgent, otherwise O(1).
  void update(Time now);
  // Returns the time of the next update() that may have something to do without a change before.
  Time deadline() const;
  // Returns an error if the file of a submission could not be written.
  const Status& disk() const { return disk_; }

 private:
  struct Entry {
    Submission* what = nullptr;
    UserId user{};
    std::uint32_t gpus =
        1;  // number of GPUs of its gang; 0: it takes no part in the order of jobs that need GPUs
    std::uint32_t gpus_max = 1;  // the number of all copies together
    TypeMask types = kAllTypes;
  };
  struct User {
    std::string name;
    std::vector<std::string> groups{};  // those with a limit
    std::set<std::pair<Priority, JobId>> jobs{};
    UserOrder order{};
  };

  static constexpr std::array<Room, 4> kRooms = {Room::kGpus, Room::kHost, Room::kProcessors,
                                                 Room::kReserved};

  Entry entry_of(Submission& what, UserId user, std::uint32_t gpus, const JobExtras& extras,
                 TypeMask types) const;
  void add(JobId job, const Entry& entry);
  bool is_new(JobId job) const { return !tables_.jobs.has(job); }
  bool has_order(const User& user) const;
  void on_change(JobId job);
  void on_gpus();
  std::vector<OrderedJob> ordered_jobs(const User& user) const;
  void update_groups();
  void update_urgent(Time now);
  bool has_urgent() const { return !urgent_.empty() || !urgent_order_.blocked().empty(); }
  void find_groups(User& user) const;
  const StartBlock* block_of(JobId job, const User& user) const;
  bool can_run(JobId job, const Entry& entry) const;
  bool has_unmet(JobId job, const Submission& what) const;
  bool lacks(JobId job, Room where) const { return without_room_.contains({job, where}); }
  bool lacks_room(JobId job) const {
    return std::ranges::any_of(kRooms, [&](Room where) { return lacks(job, where); });
  }
  bool lacks_memory(JobId job) const { return lacks(job, Room::kGpus) || lacks(job, Room::kHost); }
  void judge(JobId job);
  void write(JobId job, Submission& what);

  Io& io_;
  const Tables& tables_;
  Inbox& inbox_;
  GpuLimits limits_;
  GpuLimits group_limits_;
  std::map<JobId, Entry> jobs_;
  std::map<UserId, User> users_;
  std::map<JobId, StartBlock> group_blocked_;
  std::set<JobId> urgent_;
  UserOrder urgent_order_;  // the order of all jobs, while one is urgent
  std::map<std::pair<JobId, Room>, JobId> without_room_;  // and the job that gets it first
  std::set<JobId> dependent_;                             // start after others
  // Since the last update().
  std::set<JobId> due_;
  std::set<UserId> users_due_;
  bool groups_due_ = false;
  bool urgent_due_ = false;
  std::set<JobId> tried_now_;  // their users released them
  bool has_ends_ = true;
  Status disk_;
};

}  // namespace fairlead
