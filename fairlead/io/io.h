// The daemon's one door to the machine: time, a folder that survives crashes, connections of
// clients, and the processes of jobs.
//
// Nothing of serve/ or local/ touches the machine but through an Io, so the same code runs on a real
// machine (RealIo) and on a seeded one that crashes, tears writes and loses processes (SimIo).
//
// A task is one life of a job: the processes that one start of it began. It outlives the daemon. A
// suspended task is frozen and goes on where it was; a job that moves to other GPUs ends its task and
// gets another, which takes up its own checkpoint. The hold that began a task is its name, so that no
// task is ever started twice.
#pragma once

#include "fairlead/base/append_file.h"
#include "fairlead/base/file.h"
#include "fairlead/base/ids.h"
#include "fairlead/base/result.h"
#include "fairlead/base/units.h"

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

using ConnectionId = std::uint64_t;  // no two connections of one daemon have the same

constexpr std::uint32_t kNoUser = ~std::uint32_t{0};  // no account has that number

// Who is at the other end of a connection, as the system says, not as they say.
struct Peer {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool is_admin = false;    // root, or in the administrators' group; or the daemon's own user
  bool is_unknown = false;  // it came over TCP, which anyone may: it has no account; uid is kNoUser
};

struct TaskId {
  JobId job;
  HoldId hold = 0;  // that began it
  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};

struct TaskSpec {
  TaskId id;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::string> command;      // not empty; found by the PATH of `environment`
  std::vector<std::string> environment;  // "NAME=value", all of it
  std::string folder;                    // where it runs
  std::uint32_t umask = 022;
  std::vector<std::uint32_t> gpus;  // of the machine, as environment says too
  // Copies of the command. More than one have RANK, LOCAL_RANK and WORLD_SIZE; a single one has none of
  // its own, as launchers take a rank that is there as the sign of another launcher.
  std::uint32_t processes = 1;
  // The connection whose terminal it gets, as its controlling terminal and as standard input, output
  // and error of its one process; nothing goes to its log then. 0: none, and no input. The terminal
  // came over a Unix socket with bytes of the client's (SCM_RIGHTS); the last that came counts.
  ConnectionId terminal = 0;
};

struct TaskEnd {
  bool is_known = true;    // false: nothing is left that would say, as after a loss of power
  int code = 0;            // of the first of its processes that did not end well, or 0
  int signal = 0;          // that ended it; 0: none
  bool was_asked = false;  // it had been asked to end, and had not ended of itself before
  friend bool operator==(const TaskEnd&, const TaskEnd&) = default;
};

struct TaskStatus {
  TaskId id;
  enum class State : std::uint8_t { kRunning, kFrozen, kEnded } state = State::kRunning;
  bool was_interrupted = false;  // it was asked to end, and that was not forgotten with the daemon
  TaskEnd end{};                 // of one that has ended
};

// A process that computes on a GPU and belongs to no task.
struct ForeignProcess {
  std::uint32_t gpu = 0;  // of the machine
  std::uint64_t pid = 0;
  std::string name;  // of its program, such as "python"; it can be printed
  std::string user;
  friend bool operator==(const ForeignProcess&, const ForeignProcess&) = default;
};

struct GpuLook {
  std::vector<ForeignProcess> foreign;  // by GPU
  std::vector<int> busy_percent;        // by GPU of the machine, of the last moment; -1: not known
};

struct IoEvent {
  enum class Kind : std::uint8_t {
    kTime,       // nothing came up to the time given
    kConnected,  // by `peer`
    kReceived,   // `bytes`
    kClosed,     // by the other end, or broken; not told after close()
    kTaskEnded,  // all of its processes are gone
    kTerminate,  // the daemon is asked to leave; tasks go on
  };
  Kind kind = Kind::kTime;
  ConnectionId connection = 0;
  Peer peer{};
  std::string_view bytes{};  // valid until the next wait()
  TaskId task{};
  TaskEnd end{};
};

class Io {
 public:
  virtual ~Io() = default;

  // Milliseconds since the folder was begun. It goes on while no daemon runs, never decreases, and
  // follows no change of the machine's calendar while one runs.
  virtual Time now() = 0;
  // The calendar's milliseconds since 1970 at that time.
  virtual std::int64_t unix_ms(Time t) = 0;
  // What is next; at the latest kTime, at `until`, or at once where that is over.
  virtual IoEvent wait(Time until) = 0;

  // The daemon's folder. Names are relative to it, such as "jobs/12"; folders are made as needed.
  //
  // The file with these bytes and no others is there after any crash from now on. Error: the disk is
  // full or broken; what was there before is there still.
  virtual Status write(const std::string& name, std::string_view bytes) = 0;
  virtual Result<std::string> read(const std::string& name) = 0;  // error: there is none
  virtual void remove(const std::string& name) = 0;
  // The names of the files in `folder`, without it, sorted.
  virtual std::vector<std::string> list(const std::string& folder) = 0;
  // A stream of what a file has; an empty one where there is none.
  virtual Result<ByteSource> stream(const std::string& name) = 0;
  // The same file, cut after `bytes`, to append to; it is made where there is none.
  virtual Result<std::unique_ptr<AppendFile>> append_to(const std::string& name,
                                                        std::uint64_t bytes) = 0;

  // Sends as the other end takes it; a connection that is gone takes nothing, which is no error.
  virtual void send(ConnectionId connection, std::string_view bytes) = 0;
  // Ends it once everything was sent.
  virtual void close(ConnectionId connection) = 0;

  // Starts a task; its output goes to log_path(). Error: it cannot be started, for the reason given,
  // and nothing of it is left. REQUIRES: no task of that name was ever started.
  virtual Status start(const TaskSpec& spec) = 0;
  // Takes all processes of a task off the processors, and lets them go on. Error: some could not be
  // frozen. Doing it twice is once; a task that has ended is left alone.
  virtual Status freeze(TaskId task) = 0;
  virtual Status thaw(TaskId task) = 0;
  // Asks it to write a checkpoint and end (SIGTERM); it is thawed for that. That it was asked is on
  // the disk before.
  virtual void interrupt(TaskId task) = 0;
  // Ends it at once (SIGKILL). kTaskEnded follows, as it does after interrupt().
  virtual void kill(TaskId task) = 0;
  // All tasks that are on the machine, ended ones that were not forgotten included, by id: what a
  // daemon that starts finds.
  virtual std::vector<TaskStatus> tasks() = 0;
  // Removes what is left of a task that has ended. Its name stays used.
  virtual void forget(TaskId task) = 0;
  // The last line that the task wrote to the file in FAIRLEAD_PROGRESS, or nothing.
  virtual std::string progress(TaskId task) = 0;
  // The file in which a job's output is appended, that of all its tasks; readable by its owner.
  virtual std::string log_path(JobId job) = 0;
  // The file that FAIRLEAD_PROGRESS of a task names.
  virtual std::string progress_path(TaskId task) = 0;

  // What the driver of the machine's GPUs says of them now. Nothing: there is none that could say it,
  // now and later.
  virtual std::optional<GpuLook> look_at_gpus() = 0;

  // The name of an account, or its number where it has none.
  virtual std::string user_name(std::uint32_t uid) = 0;
  // A TCP port of this machine that nothing listens on.
  virtual std::uint16_t free_port() = 0;
};

}  // namespace fairlead
