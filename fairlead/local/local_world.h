// The engine's world of real jobs. The input from an Io up to the next instant is one batch; the engine's steps go to
// the tasks once they are on the disk.
#pragma once

#include "fairlead/engine/backend.h"
#include "fairlead/local/local_backend.h"
#include "fairlead/local/old_logs.h"
#include "fairlead/model/task_limits.h"

#include <functional>

namespace fairlead {

class LocalWorld : public Backend {
 public:
  // `sync`: brings the journal to the disk. `on_client`: receives the connections' input, and kTime once all input up to
  // then was received. `client_deadline`: the time at which it needs the next kTime. `keep`: OldLogs. The arguments must
  // outlive the world.
  LocalWorld(Io& io, Inbox& inbox, std::function<Status()> sync,
             std::function<void(const IoEvent&)> on_client, std::function<Time()> client_deadline,
             Duration keep = {})
      : io_(io),
        inbox_(inbox),
        sync_(std::move(sync)),
        on_client_(std::move(on_client)),
        client_deadline_(std::move(client_deadline)),
        old_logs_(io, keep) {}
  // REQUIRES: called before the first wait().
  void set_backend(LocalBackend& backend) { backend_ = &backend; }

  // Ends once the daemon is asked to leave, or the disk is full.
  Batch wait(Time until, bool awaited) override;
  std::span<const SpeedChange> expect(Time now, std::span<Step> steps) override;
  void carry_out(Time now, std::span<const Step> steps) override;
  bool reports_steps() const override { return true; }
  std::uint64_t last_choice(JobId job, NodeId node) const override {
    return backend_->last_choice(job, node);
  }

  // The limits that LocalBackend keeps.
  TaskLimits& limits() { return limits_; }
  const TaskLimits* task_limits() const override { return &limits_; }

  OldLogs& old_logs() { return old_logs_; }
  // An error if nothing is carried out any more.
  const Status& disk() const { return disk_; }

 private:
  void take(const IoEvent& event);

  Io& io_;
  Inbox& inbox_;
  TaskLimits limits_;
  LocalBackend* backend_ = nullptr;
  std::function<Status()> sync_;
  std::function<void(const IoEvent&)> on_client_;
  std::function<Time()> client_deadline_;
  OldLogs old_logs_;
  Status disk_;
  bool leaves_ = false;
};

}  // namespace fairlead
