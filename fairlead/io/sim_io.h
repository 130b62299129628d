// A simulated Io: a seeded machine in memory with virtual time and injected faults.
//
// A SimIo is the machine, so it outlives daemons. A daemon is crashed at any call (SimCalls) and destroyed, and
// another one is opened on the remaining state (restart). After its crash a daemon has no further effect: its calls do
// nothing, and wait() asks it to leave.
//
// A SimClients plays the clients. It is called at their times and when the daemon answers, and must not call the
// daemon. Equal seeds and calls give equal worlds.
//
// Cost of a call: O(log of the planned events).
#pragma once

#include "fairlead/base/rng.h"
#include "fairlead/io/io.h"
#include "fairlead/io/sim_calls.h"
#include "fairlead/io/sim_disk.h"
#include "fairlead/io/sim_machine.h"
#include "fairlead/io/sim_tasks.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace fairlead {

// The probabilities of faults, per call at which they can occur.
struct SimFaults {
  double disk_full =
      0;  // per write or sync: it fails, because the disk is full for a moment or a while
  double slow_sync = 0;     // per sync: it takes up to a minute
  double start_fails = 0;   // per start
  double freeze_fails = 0;  // per freeze or thaw
  double end_early = 0;     // per freeze: the task has ended just before
  double late_notice = 0;   // per end: it is reported up to ten seconds late
  double told_twice = 0;    // per end: it is reported twice
  double stall = 0;         // per wait: the daemon does not run for up to ten minutes
  double foreign = 0;       // per look at GPUs: a foreign process computes on one for a while
  double calendar = 0;      // per wait: the calendar steps by up to a day, forward or back
  bool delays = true;       // the disk, starts and notices take some milliseconds
};

class SimClients {
 public:
  virtual ~SimClients() = default;
  // Called at the time given to SimIo::wake().
  virtual void wake(std::uint64_t token) = 0;
  // received() is called after the daemon sent these bytes, valid during the call; closed() after it closed the
  // connection or crashed.
  virtual void received(ConnectionId connection, std::string_view bytes) = 0;
  virtual void closed(ConnectionId connection) = 0;
};

enum class Outage : std::uint8_t {
  kDaemon,  // only the daemon is gone: the page cache and the tasks remain
  kPower,
};

class SimIo final : public Io {
 public:
  SimIo(std::uint64_t seed, const SimFaults& faults);

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
  // Ends all faults.
  void stop_faults();

  // -- The clients, between waits or when they are called.
  void set_clients(SimClients* clients) { clients_ = clients; }
  void wake(std::uint64_t token, Time at) { agenda_.push({at, ++order_, token, kClient}); }
  // Returns 0 if no daemon takes connections.
  ConnectionId connect(const Peer& peer);
  // Delivers bytes after the delay `later`; the bytes of one connection stay in order.
  void client_send(ConnectionId connection, std::string bytes, Duration later);
  void hang_up(ConnectionId connection, Duration later);

  // -- The machine: its GPUs, accounts and notifications.
  SimMachine& machine() { return machine_; }
  // The disk changes a bit of a file, which has that many. REQUIRES: there is such a file.
  void flip_bit(const std::string& name, std::uint64_t bit) { disk_.flip_bit(name, bit); }
  // A task that no journal of this folder has, of a job that never came: so it is where a folder was
  // lost or taken from a copy while tasks went on. It hangs. REQUIRES: no daemon lives.
  void add_stray(JobId job, std::uint32_t gpu);

  // -- The truth.
  const SimTasks& processes() const { return tasks_; }
  const SimDisk& disk() const { return disk_; }
  std::size_t connections() const { return connections_.size(); }
  Time time() const { return now_; }
  // Returns whether the disk was full in the life of this daemon, or is now.
  bool was_disk_full() const { return was_full_; }

  // Sets a function that receives a line for each call that changes something, and for each event that the daemon
  // receives.
  void set_trace(std::function<void(const std::string&)> trace) { trace_ = std::move(trace); }
  template <class Text>
  void trace(const Text& text) const {
    if (trace_) trace_(fmt::format("{:>9} {:>6} {}", now_.ms, calls_.count(), text()));
  }

 private:
  class File;
  class Stream;
  enum What : std::uint8_t { kClient, kConnection, kNotice };
  // A planned event; events of one instant stay in the order of planning.
  struct Due {
    Time at;
    std::uint64_t order;
    std::uint64_t what;  // token or connection
    What kind;
    TaskId task{};
    friend bool operator>(const Due& a, const Due& b) {
      return std::tie(a.at, a.order) > std::tie(b.at, b.order);
    }
  };
  struct Arrival {
    IoEvent::Kind kind;
    std::string bytes;
  };
  struct Connection {
    Peer peer;
    std::deque<Arrival> arrivals;  // to the daemon
    Time last;                     // when the last of them arrives
  };

  // Counts a call. False: the daemon has crashed, and the call must do nothing.
  bool call(IoCall call);
  bool happens(double SimFaults::*fault);
  Duration upto(std::int64_t ms);
  Duration delay(std::int64_t ms) { return faults_.delays ? upto(ms) : Duration(); }
  void arrive(ConnectionId id, IoEvent::Kind kind, std::string bytes, Duration later);
  // Fills the disk for a while with some probability; empties it again when that time is over.
  void fill_disk();
  // Lets the time up to now_ pass for the tasks.
  void settle_tasks();
  void plan_notice(TaskId task);
  void disturb(Time until);
  // Takes the next planned event; true if it concerns the daemon.
  bool take(IoEvent& event);
  bool take_arrival(ConnectionId id, IoEvent& event);

  SimFaults faults_;
  Rng rng_;
  SimDisk disk_;
  SimTasks tasks_;
  SimClients* clients_ = nullptr;
  SimMachine machine_;
  Time now_;
  std::int64_t calendar_ms_;  // calendar time of time 0, ms
  Time full_until_;
  bool was_full_ = false;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> agenda_;
  std::uint64_t order_ = 0;
  std::map<ConnectionId, Connection> connections_;
  ConnectionId last_connection_ = 0;
  std::string received_;  // the bytes of the last event
  std::vector<TaskId> ended_;
  SimCalls calls_;
  std::uint64_t life_ = 1;  // number of the daemon: files and notices of earlier ones are void
  bool is_terminated_ = false;
  std::uint16_t port_ = 20'000;
  std::function<void(const std::string&)> trace_;
};

}  // namespace fairlead
