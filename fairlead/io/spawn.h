// Starts the shim of a task.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/descriptor.h"
#include "fairlead/shim/spec.h"

#include <filesystem>
#include <sys/types.h>

namespace fairlead {

struct Spawned {
  pid_t pid = 0;
  Descriptor process;  // a pidfd
  std::string reply;   // what it said until it began the task or gave up (shim/spec.h)
};

// Starts `program` with `spec` and waits until it replies; its output goes to `log`. `terminal`: for
// the task, where `spec` says that it has one. A process with much memory does it as fast as a small
// one. Error: the system refuses; nothing runs then.
Result<Spawned> spawn_shim(const std::filesystem::path& program, const shim::Spec& spec,
                           const Descriptor& log, int terminal = -1);
// Waits until it has ended. False if it has not within `limit_ms`.
bool has_ended(const Descriptor& process, int limit_ms);
// The same, and forgets it where it is a child.
bool reap(const Descriptor& process, int limit_ms);

}  // namespace fairlead
