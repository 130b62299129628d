// The commands of notifications (Io::notify): runs them, a few at a time.
//
// Each is a process group of its own, which is killed once its time is over. A command that a daemon leaves behind runs on
// without a limit.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/io/descriptor.h"
#include "fairlead/io/epoll.h"
#include "fairlead/io/io.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <sys/types.h>

namespace fairlead {

class Notices {
 public:
  // `limit`: the time of a command. `epoll` must outlive this.
  explicit Notices(Epoll& epoll, Duration limit = kNotificationTime)
      : epoll_(epoll), limit_(limit) {}
  // Logs the number of notifications that still wait.
  ~Notices();
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  // Starts the command, or lets it wait. O(1).
  void add(Notification notification);
  // Returns whether `ready` is of a command: it has ended, or its time is over. O(log commands).
  bool handle(const Epoll::Ready& ready);
  std::size_t running() const { return running_.size(); }

 private:
  struct Running {
    JobId job;
    pid_t pid = 0;
    Descriptor process;  // a pidfd
    Descriptor timer;
    std::uint64_t timer_number = 0;  // the number of the timer in the epoll
    bool is_late = false;
  };

  Status start(const Notification& notification);
  void start_waiting();
  void end(const Running& ended);

  Epoll& epoll_;
  const Duration limit_;
  std::map<std::uint64_t, Running> running_;  // by the epoll's number of the process
  std::deque<Notification> waiting_;
};

}  // namespace fairlead
