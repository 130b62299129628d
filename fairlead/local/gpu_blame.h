// Which GPUs are to blame for tasks that fail at once, and are therefore closed.
//
// A task fails at once if it ends badly within kAtOnce of its start. The failure may be the job's own, or its GPUs'.
// The jobs beside it decide:
//
//  - A GPU is closed once two tasks have failed at once on it, without a good one between them, or one task whose job
//    is retried elsewhere. A task is good if it ends well, or lives for kAtOnce.
//  - Failures of two users, or another one after a rest, close it until an administrator opens it. Otherwise it rests
//    for kRest, because the failures may be the user's.
//  - A program that fails in the same way on other GPUs has failed by itself. Its failures do not count, and GPUs that
//    only they have closed open again. Failures stay if the program was good elsewhere since.
//  - All suspected GPUs of a gang rest, because any of them may be the broken one. A good task clears its GPUs.
//  - If the GPUs that are left are too few for the job, failures of one user close nothing: there is no comparison.
//
// Costs: O(failures of the last two hours x GPUs of a gang) a call.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/io/io.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

// A Python program needs up to this time to import its framework and make its first call to the GPU. No training is
// done by then.
constexpr Duration kAtOnce = seconds(30);
// Chosen: a broken GPU costs one more job an hour, and two typos of one user cost a GPU for an hour at most.
constexpr Duration kRest = hours(1);

class GpuBlame {
 public:
  struct Try {
    TaskId task;
    std::string user;
    std::string program;  // the job's model
    std::vector<std::uint32_t> gpus;
  };
  struct Closing {
    std::string reason;
    Time until = Time::never();  // an administrator opens it
  };
  // Returns whether the job of the last failure could run without these GPUs.
  using HasRoom = std::function<bool(std::span<const std::uint32_t> without)>;

  // Notes a task that failed at once. `end`: how, "exit code 1"; `is_retried`: its job is started again.
  void on_failed(Time now, const Try& what, std::string_view end, bool is_retried,
                 const HasRoom& has_room);
  void on_good(const Try& what);
  // Opens the GPUs whose rest is over.
  void on_time(Time now);

  // Returns whether a task failed at once on the GPU, and none was good since.
  bool is_suspect(std::uint32_t gpu) const;
  const std::map<std::uint32_t, Closing>& closed() const { return closed_; }
  // Takes over a GPU that an earlier daemon closed.
  void close(std::uint32_t gpu, Closing closing) { closed_[gpu] = std::move(closing); }
  // Opens a GPU and forgets its failures.
  void open(std::uint32_t gpu);

 private:
  struct Failure {
    Try what;  // with the GPUs that are still suspected
    std::string end;
    bool is_retried = false;
    Time at;
    bool is_confirmed = false;  // its program was good elsewhere since
    std::string key() const { return what.user + '\n' + what.program + '\n' + end; }
  };
  std::vector<const Failure*> failures_on(std::uint32_t gpu) const;
  bool is_to_close(std::uint32_t gpu) const;
  std::string reason(std::uint32_t gpu) const;
  void acquit(std::uint32_t gpu);
  void forget(const std::string& key);

  std::vector<Failure> failures_;            // in the last 2 * kRest: failures before a rest count
  std::map<std::uint32_t, Closing> closed_;  // the key is the GPU
};

}  // namespace fairlead
