// Starts the daemon's processes: the shim of a task, and commands of the administrator.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/descriptor.h"
#include "fairlead/io/io.h"
#include "fairlead/shim/spec.h"

#include <filesystem>
#include <sys/types.h>

namespace fairlead {

struct Spawned {
  pid_t pid = 0;
  Descriptor process;  // a pidfd
  std::string reply;   // its messages until it started the task or gave up (shim/spec.h)
};

// Starts `program` with `spec` and waits for its reply; its output goes to `log`. `terminal`: for the task, if `spec`
// has one. The size of this process's memory does not slow the start. Error: the system refuses; nothing runs then.
Result<Spawned> spawn_shim(const std::filesystem::path& program, const shim::Spec& spec,
                           const Descriptor& log, int terminal = -1);
// Starts the command of a notification (Io::notify), with `reply` empty. Its output goes to this process's standard error.
// Error: the system refuses; nothing runs then.
Result<Spawned> spawn_command(const Notification& notification);
// Waits for the process's end. False if it does not end within `limit_ms`.
bool has_ended(const Descriptor& process, int limit_ms);
// Waits in the same way and reaps the process if it is a child.
bool reap(const Descriptor& process, int limit_ms);

}  // namespace fairlead
