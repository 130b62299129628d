// A simulated Io: a seeded machine in memory with virtual time and injected faults.
//
// A SimIo is the machine, so it outlives daemons. A daemon is crashed at any call (SimCalls) and destroyed, and
// another one is opened on the remaining state (restart). After its crash a daemon has no further effect: its calls do
// nothing, and wait() asks it to leave.
//
// Its parts: the time and the planned events (sim_agenda.h), the faults (sim_faults.h), the clients (sim_network.h), the
// disk, the tasks and their ends, and the rest of the machine. Equal seeds and calls give equal worlds.
//
// Cost of a call: O(log of the planned events).
#pragma once

#include "fairlead/io/io.h"
#include "fairlead/io/sim_agenda.h"
#include "fairlead/io/sim_calls.h"
#include "fairlead/io/sim_disk.h"
#include "fairlead/io/sim_faults.h"
#include "fairlead/io/sim_machine.h"
#include "fairlead/io/sim_network.h"
#include "fairlead/io/sim_task_ends.h"
#include "fairlead/io/sim_tasks.h"
#include "fairlead/io/sim_trace.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

enum class Outage : std::uint8_t {
  kDaemon,  // only the daemon is gone: the page cache and the tasks remain
  kPower,
};

class SimIo final : public Io {
 public:
  SimIo(std::uint64_t seed, const SimFaults& faults);
  SimIo(const SimIo&) = delete;  // its parts refer to each other
  SimIo& operator=(const SimIo&) = delete;

  Time now() override;
  std::int64_t unix_ms(Time t) override;
  IoEvent wait(Time until) override;
  Status write(const std::string& name, std::string_view bytes) override;
  Result<std::string> read(const std::string& name) override;
  void remove(const std::string& name) override;
  std::vector<std::string> list(const std::string& folder) override;
  Result<ByteSource> stream(const std::string& name) override;
  Result<std::unique_ptr<AppendFile>> append_to(const std::string& name,
                                                std::uint64_t bytes) override;
  void send(ConnectionId connection, std::string_view bytes) override;
  void close(ConnectionId connection) override;
  Status start(const TaskSpec& spec) override;
  Status freeze(TaskId task) override;
  Status thaw(TaskId task) override;
  void interrupt(TaskId task) override;
  void kill(TaskId task) override;
  std::vector<TaskStatus> tasks() override;
  void forget(TaskId task) override;
  TaskReports reports(TaskId task, std::uint64_t output_from) override;
  std::string log_path(JobId job) override;
  std::string progress_path(TaskId task) override;
  std::optional<GpuLook> look_at_gpus(std::span<const std::string> names) override;
  void end_process(std::uint64_t pid, bool by_force) override;
  void notify(Notification notification) override;
  std::string user_name(std::uint32_t uid) override;
  std::vector<std::string> group_names(std::uint32_t uid, std::uint32_t gid) override;
  std::uint16_t free_port() override;

  // -- The daemon's life.
  // Its calls, at which it can be crashed.
  SimCalls& calls() { return calls_; }
  // Asks the daemon to leave at its next wait().
  void terminate() { is_terminated_ = true; }
  // Ends the daemon by `outage` and lets `time` pass; afterwards another daemon may be opened. REQUIRES: no daemon uses
  // this SimIo any more.
  void restart(Outage outage, Duration time);
  FaultInjector& faults() { return faults_; }
  SimNetwork& network() { return network_; }

  // -- The machine: its GPUs, accounts and notifications.
  SimMachine& machine() { return machine_; }
  // A task that no journal of this folder has, of a job that never came: so it is where a folder was
  // lost or taken from a copy while tasks went on. It hangs. REQUIRES: no daemon lives.
  void add_stray(JobId job, std::uint32_t gpu);

  // -- The truth.
  const SimTasks& processes() const { return tasks_; }
  SimDisk& disk() { return disk_; }
  Time time() const { return agenda_.now(); }
  SimTrace& trace() { return trace_; }

 private:
  class File;
  class Stream;

  // Counts a call. False: the daemon has crashed, and the call must do nothing.
  bool call(IoCall call);
  // Takes the next planned event; true if it concerns the daemon.
  bool take(IoEvent& event);

  SimCalls calls_;
  SimAgenda agenda_;
  SimTrace trace_{agenda_, calls_};
  FaultInjector faults_;
  SimDisk disk_;
  SimTasks tasks_;
  SimTaskEnds ends_{tasks_, agenda_, faults_, calls_};
  SimNetwork network_{agenda_, calls_};
  SimMachine machine_;
  std::int64_t calendar_ms_;  // calendar time of time 0, ms
  bool is_terminated_ = false;
  std::uint16_t port_ = 20'000;
};

}  // namespace fairlead
