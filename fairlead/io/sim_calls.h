// The calls of daemons to a SimIo: counts them, reports them to a watch, and crashes a daemon at any of
// them.
//
// Costs: O(1) a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

namespace fairlead {

struct SimFaults;

// The calls of a daemon to its Io, in the order of io_call_names().
enum class IoCall : std::uint8_t {
  kNow,
  kWait,
  kWrite,
  kRead,
  kRemove,
  kList,
  kStream,
  kOpen,  // Io::append_to
  kAppend,
  kSync,
  kSend,
  kClose,
  kStart,  // Io::start, or Io::notify
  kFreeze,
  kThaw,
  kInterrupt,
  kKill,  // Io::kill, or Io::end_process
  kTasks,
  kForget,
  kProgress,
  kLook,
  kPort,
};
constexpr std::size_t kIoCalls = 22;
std::span<const std::string_view> io_call_names();

// Called at each call of a living daemon, with a null `fault`, and again for each fault that strikes
// there.
using IoWatch = std::function<void(IoCall call, double SimFaults::*fault)>;

class SimCalls {
 public:
  void set_watch(IoWatch watch) { watch_ = std::move(watch); }
  // Crashes the daemon after that many more calls: the next call is the first without effect.
  void crash_after(std::uint64_t calls) { left_ = calls; }
  // The same for calls of one kind; the crash that comes first counts.
  void crash_at(IoCall call, std::uint64_t calls) { aim_ = {call, calls}; }

  std::uint64_t count() const { return count_; }  // by all daemons, dead ones included
  bool is_dead() const { return is_dead_; }
  // Returns the number of calls before the last crash.
  std::uint64_t died_at() const { return died_at_; }

  // Counts a call. False: the daemon has crashed, and the call must have no effect.
  bool note(IoCall call) {
    ++count_;
    if (is_dead_) return false;
    last_ = call;
    if (watch_) watch_(call, nullptr);
    if (call == aim_.call && aim_.left-- == 0) left_ = 0;
    if (left_-- > 0) return true;
    is_dead_ = true;
    died_at_ = count_ - 1;
    return false;
  }
  // Called when a fault strikes at the last call.
  void note(double SimFaults::*fault) const {
    if (watch_) watch_(last_, fault);
  }
  // Returns the number of this daemon, or of the pause after one. Files and notices of earlier numbers are void.
  std::uint64_t life() const { return life_; }
  // Called when a daemon has ended: no crash is planned until another daemon starts.
  void end() {
    ++life_;
    is_dead_ = true;
    left_ = kNever;
    aim_ = {};
  }
  void begin() {
    ++life_;
    is_dead_ = false;
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  struct Aim {
    IoCall call = IoCall::kNow;
    std::uint64_t left = kNever;
  };
  IoWatch watch_;
  std::uint64_t count_ = 0;
  std::uint64_t left_ = kNever;
  Aim aim_;
  IoCall last_ = IoCall::kNow;
  std::uint64_t died_at_ = 0;
  bool is_dead_ = false;
  std::uint64_t life_ = 1;
};

}  // namespace fairlead
