// The daemon's only interface to the machine: time, a folder that survives crashes, connections of clients, and the
// processes of jobs.
//
// The code in serve/ and local/ touches the machine only through an Io. The same code therefore runs on a real machine
// (RealIo) and on a seeded one that crashes, tears writes and loses processes (SimIo).
//
// A task is one life of a job: the processes that one start of it created. It outlives the daemon. A suspended task is
// frozen and continues in place. A job that moves to other GPUs ends its task and gets another one, which loads the
// job's own checkpoint. A task is named by the run that started it, so no task is ever started twice.
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
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

using ConnectionId = std::uint64_t;  // no two connections of one daemon have the same

constexpr std::uint32_t kNoUser = ~std::uint32_t{0};  // no account has that number

// Limits of a process that its children inherit.
struct ProcessLimits {
  // The soft and the hard limit of each resource, in the order of the system's numbers (RLIMIT_CPU is 0); RLIM_INFINITY:
  // none. Empty: not known.
  std::vector<std::uint64_t> resources{};
  std::int32_t nice = 0;  // if the limits are known
};

// The other end of a connection, identified by the system.
struct Peer {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool is_admin = false;    // root, or in the administrators' group; or the daemon's own user
  ProcessLimits limits{};   // the limits of its process when it connected
  bool is_unknown = false;  // a TCP peer: anyone may connect, it has no account, and uid is kNoUser
};

struct TaskId {
  JobId job;
  RunId run = 0;  // that began it
  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};

struct TaskSpec {
  TaskId id;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::string> command;      // not empty; found by the PATH of `environment`
  std::vector<std::string> environment;  // "NAME=value", the complete environment
  std::string folder;                    // where it runs
  std::uint32_t umask = 022;
  std::vector<std::uint32_t> gpus;  // the GPUs' numbers on the machine, also in environment
  // Copies of the command. Several copies have RANK, LOCAL_RANK and WORLD_SIZE. A single one has none of them, because
  // launchers take an existing rank as the sign of another launcher.
  std::uint32_t processes = 1;
  // The connection whose terminal becomes the task's controlling terminal and the standard input, output and error of
  // its one process; its log then stays empty. 0: no terminal and no input. The terminal arrived over a Unix socket
  // with the client's bytes (SCM_RIGHTS); the last one counts.
  ConnectionId terminal = 0;
  // The connection with the standard input of the first process, which came like a terminal: a pipe, a file or a
  // socket. 0: no input.
  ConnectionId input = 0;
  // The limits of its processes, as far as the daemon may set them; not known: the daemon's.
  ProcessLimits limits{};
  // The limits of all its processes together, as far as the daemon may set them; 0: none. The system ends processes of a task
  // that needs more memory (TaskEnd::has_no_memory).
  std::uint32_t memory_mb = 0;            // 10^6 bytes
  std::uint32_t cpu_milli = 0;            // thousandths of a processor
  std::vector<std::string> other_gpus{};  // the driver's names of GPUs that it must not open
};

struct TaskEnd {
  bool is_known = true;    // false: no record of the end is left, for example after a loss of power
  int code = 0;            // exit code of the first process that did not end well, or 0
  int signal = 0;          // that ended it; 0: none
  bool was_asked = false;  // it had been asked to end, and had not ended by itself before
  bool has_no_memory = false;  // the system ended one of its processes for lack of memory
  friend bool operator==(const TaskEnd&, const TaskEnd&) = default;
};

struct TaskStatus {
  TaskId id;
  enum class State : std::uint8_t { kRunning, kFrozen, kEnded } state = State::kRunning;
  bool was_interrupted = false;  // it was asked to end; survives a restart of the daemon
  TaskEnd end{};                 // if the task has ended
};

// A process that computes on a GPU.
struct GpuProcess {
  std::uint32_t gpu = 0;  // index on the machine
  std::uint64_t pid = 0;
  std::string name;  // its program's name, for example "python"; printable
  std::string user;
  TaskId task{};         // that it belongs to; no job: none
  bool is_root = false;  // it runs as root
  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

// The memory of a GPU, in 10^6 bytes.
struct GpuMemory {
  std::uint32_t total_mb = 0;  // 0: not known
  std::uint32_t used_mb = 0;
  friend bool operator==(const GpuMemory&, const GpuMemory&) = default;
};

struct GpuLook {
  std::vector<GpuProcess> processes;  // by GPU
  std::vector<int> busy_percent;      // by GPU of the machine, in the last moment; -1: not known
  std::vector<std::string> errors;    // by GPU: the driver's error; empty: none
  std::vector<GpuMemory> memory;      // by GPU
  std::vector<int> power_w;           // by GPU; -1: not known
};

// Observations of a task; the texts are its user's.
struct TaskReports {
  std::string progress{};  // the last line in the file of FAIRLEAD_PROGRESS; empty: none
  // The last line of the hook in its Python processes (python/hook); empty: none.
  std::string steps{};
  // A part of the job's output, at most the last kOutputBytesMax, and the byte where the part begins.
  std::string output{};
  std::uint64_t output_begin = 0;
  // It can save its work when it is asked to end: each of its workers has a handler for SIGTERM
  // (shim::workers_handle).
  bool can_save = false;
};
constexpr std::size_t kOutputBytesMax = 16'384;  // many screens, and a small cost every few seconds

// A command of the administrator that a job's end starts.
struct Notification {
  JobId job;                           // for the log
  std::string command;                 // for /bin/sh
  std::vector<std::string> variables;  // "NAME=value", added to the daemon's environment
  std::string input;                   // its standard input
};
constexpr Duration kNotificationTime =
    seconds(60);  // a mail server may be slow, but not for longer
constexpr std::size_t kNotificationsAtOnce =
    4;  // few, because they share the machine with the jobs
constexpr std::size_t kNotificationsWaitingMax = 1000;  // the ends of one array of jobs

struct IoEvent {
  enum class Kind : std::uint8_t {
    kTime,       // no event until the given time
    kConnected,  // by `peer`
    kReceived,   // `bytes`
    kClosed,     // by the other end, or broken; not reported after close()
    kTaskEnded,  // all of the task's processes are gone
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

  // Returns the milliseconds since the folder's creation. Time passes while no daemon runs and never decreases. It
  // ignores changes of the machine's calendar while a daemon runs.
  virtual Time now() = 0;
  // Returns the calendar's milliseconds since 1970 at that time.
  virtual std::int64_t unix_ms(Time t) = 0;
  // Returns the next event: kTime at `until`, or immediately if `until` has passed.
  virtual IoEvent wait(Time until) = 0;

  // The daemon's folder. Names are relative to it, for example "jobs/12"; folders are created as needed.
  //
  // Replaces a file's content; after any later crash it has exactly these bytes. Error: the disk is full or broken; the
  // previous content is unchanged.
  virtual Status write(const std::string& name, std::string_view bytes) = 0;
  virtual Result<std::string> read(const std::string& name) = 0;  // error: it does not exist
  virtual void remove(const std::string& name) = 0;
  // Returns the names of the files in `folder`, without the folder, sorted. A crash may have left files under
  // construction (OutputFile).
  virtual std::vector<std::string> list(const std::string& folder) = 0;
  // Returns a stream of a file's content; an empty one if there is no file.
  virtual Result<ByteSource> stream(const std::string& name) = 0;
  // Opens the same file, truncated to `bytes`, to append to; creates it if there is none.
  virtual Result<std::unique_ptr<AppendFile>> append_to(const std::string& name,
                                                        std::uint64_t bytes) = 0;

  // Queues bytes and sends them as the other end takes them. Bytes to a closed connection are dropped without an error.
  virtual void send(ConnectionId connection, std::string_view bytes) = 0;
  // Ends it once everything was sent.
  virtual void close(ConnectionId connection) = 0;

  // Starts a task; its output goes to log_path(). Error: the reason why it cannot be started; nothing of it is left. It
  // is Error::Kind::kInput if the command itself cannot run, and begins with the exit code that shells have for that:
  // "exit code 127: cannot run x: No such file or directory".
  // REQUIRES: no task of that name was ever started.
  virtual Status start(const TaskSpec& spec) = 0;
  // Stops or continues all processes of a task. Error: some could not be frozen. Both calls are idempotent and ignore a
  // task that has ended.
  virtual Status freeze(TaskId task) = 0;
  virtual Status thaw(TaskId task) = 0;
  // Asks it to write a checkpoint and end (SIGTERM), and thaws it for that. The request is recorded on disk first.
  virtual void interrupt(TaskId task) = 0;
  // Ends a task immediately (SIGKILL). kTaskEnded follows, also after interrupt().
  virtual void kill(TaskId task) = 0;
  // Returns all tasks on the machine by id, including ended tasks that were not forgotten: the input of a daemon that
  // starts.
  virtual std::vector<TaskStatus> tasks() = 0;
  // Removes the files of an ended task. Its name stays used.
  virtual void forget(TaskId task) = 0;
  // Returns the reports of a task's progress, and its job's output from byte `output_from` on. The output
  // begins at its end if that is before `output_from`. If the log has more bytes than it may, its older part is removed.
  virtual TaskReports reports(TaskId task, std::uint64_t output_from) = 0;
  // Returns the file to which all tasks of a job append their output; its owner can read it.
  virtual std::string log_path(JobId job) = 0;
  // Returns the path in FAIRLEAD_PROGRESS of a task.
  virtual std::string progress_path(TaskId task) = 0;

  // Runs a notification's command as the daemon's user, in a process group of its own, and returns at once. At most
  // kNotificationsAtOnce run at a time; up to kNotificationsWaitingMax others wait. Logs a command that cannot run, fails, or
  // is killed after kNotificationTime, and a notification for which there is no room. One that waits is lost with the daemon.
  virtual void notify(Notification notification) = 0;

  // Returns the GPU driver's current report on the GPUs with these names. Nothing: no driver can report, now or later.
  virtual std::optional<GpuLook> look_at_gpus(std::span<const std::string> names) = 0;

  // Asks a process that look_at_gpus() has just returned to end (SIGTERM), or ends it (SIGKILL) if `by_force`. Ignores one
  // that is gone, and one of another user unless the daemon is root.
  virtual void end_process(std::uint64_t pid, bool by_force) = 0;

  // Returns the name of an account, or its number if it has no name.
  virtual std::string user_name(std::uint32_t uid) = 0;
  // Returns the names of an account's groups.
  virtual std::vector<std::string> group_names(std::uint32_t uid, std::uint32_t gid) = 0;
  // Returns a TCP port of this machine on which nothing listens.
  virtual std::uint16_t free_port() = 0;
};

}  // namespace fairlead
