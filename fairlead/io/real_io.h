// Io on a Linux machine.
//
// One thread, one epoll: a Unix socket, its connections, a pidfd for each task, a signalfd and a timer. A folder serves
// one RealIo at a time. Only the daemon's user reads and writes it (the process's umask is 077 meanwhile). Exceptions
// are a job's output and progress, which belong to its user.
//
// FOLDER/lock        locked by the daemon; contains its process number
//   FOLDER/began       the folder's creation, Unix milliseconds; FOLDER/time: the last recorded time
//   FOLDER/socket      the Unix socket
//   FOLDER/tasks/J.H   run H of job J, until it is forgotten (fairlead/shim/files.h)
//   FOLDER/logs/J.log  the output of job J; if it is too long, its older part is a hole
//
// Needs Linux 5.4, and 5.14 for tasks as cgroups. A unit of systemd needs Delegate=yes, so that it may
// have groups of its own, and KillMode=process, so that tasks outlive the daemon.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/gpu_driver.h"
#include "fairlead/io/io.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace fairlead {

struct RealIoOptions {
  std::filesystem::path folder;          // created if missing
  std::filesystem::path socket{};        // empty: "socket" in the folder
  bool has_gpus = false;                 // false: the GPUs are stand-ins
  GpuLibraries gpu_libraries{};          // that report their load
  std::uint16_t port = 0;                // TCP port on 127.0.0.1 on which it also listens; 0: none
  std::string admin_group = "fairlead";  // its members are administrators; it need not exist
  std::filesystem::path shim{};          // the program; empty: fairlead-shim beside this program
  std::uint64_t log_bytes = 0;           // see TaskOptions
  bool use_cgroups = true;               // if possible; otherwise tasks are stopped by signals
};

class RealIo : public Io {
 public:
  // Blocks SIGTERM and SIGINT, which arrive as kTerminate from now on. Error: another daemon, named in the error, has
  // the folder or the socket; the shim is missing; or the folder cannot be written. REQUIRES: called on the thread that
  // makes all other calls; no other thread handles these signals.
  static Result<std::unique_ptr<RealIo>> open(RealIoOptions options);

  // Returns whether tasks are frozen and ended as cgroups.
  virtual bool uses_cgroups() const = 0;
  // Returns the names of the limits of tasks that this process may not set.
  virtual std::vector<std::string> missing_limits() const = 0;
};

}  // namespace fairlead
