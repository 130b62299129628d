#include "fairlead/kube/open_cluster.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/signalfd.h>
#include <utility>

namespace fairlead {
namespace {

// Returns a descriptor that can be read once the process is asked to leave; the request no longer ends the process.
Result<int> leave_descriptor() {
  sigset_t asked;
  ::sigemptyset(&asked);
  ::sigaddset(&asked, SIGTERM);
  ::sigaddset(&asked, SIGINT);
  ::sigprocmask(SIG_BLOCK, &asked, nullptr);
  const int leave = ::signalfd(-1, &asked, SFD_CLOEXEC | SFD_NONBLOCK);
  if (leave < 0) return run_error("signalfd: {}", std::strerror(errno));
  return leave;
}

}  // namespace

Result<OpenedCluster> open_cluster(const std::string& context) {
  FL_TRY_ASSIGN(target, find_kube_target(context));
  OpenedCluster opened{.server = target.cluster.server};
  FL_TRY_ASSIGN(leave, leave_descriptor());
  FL_TRY_ASSIGN(door, CurlDoor::open(std::move(target), leave));
  opened.door = std::move(door);
  return opened;
}

}  // namespace fairlead
