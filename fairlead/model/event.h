// Events: what the world reports to the engine.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"

#include <cstdint>
#include <string_view>

namespace fairlead {

// The order of the enumerators is the order of events at equal times: events that free GPUs come before events that
// need them.
enum class EventKind : std::uint8_t {
  kFinished,
  kFailed,       // the job ended by itself without finishing
  kStopped,      // a stop step was carried out: the GPUs are really free
  kStopFailed,   // a stop step could not be carried out: its GPUs are not free
  kCancelled,    // the user cancelled the job
  kHeld,         // the user suspended placements of the job, or it waits for other jobs
  kEvicted,      // the job lost its gang, with a node or by an operator
  kStartFailed,  // a place step could not be carried out
  kCordoned,     // a node takes no further gangs; its current gangs continue
  kGpusDown,     // GPUs of a node are gone: failed, or taken by something else
  kUncordoned,
  kGpusUp,
  kStarted,   // a place step was carried out
  kProgress,  // the job's rate changed
  kReported,  // the job reported its remaining work
  kTickets,   // a user's tickets changed
  kReleased,  // a job that was held may be placed again
  kArrived,
  kWoke,       // a wake-up that the policy requested
  kPinned,     // whether a job can save its work is known now
  kForgotten,  // a user asks to forget the measured speeds of a model
  kRoomUp,  // a node offers tasks more of a resource other than GPUs (Jobs::limits); policies get kGpusUp
  kProfiled,  // the profile of a job was seen
  kCharged,   // a user's processes took GPU time outside of the user's jobs
};
constexpr std::size_t kEventKinds = 24;
std::string_view event_name(EventKind kind);  // "start failed"

// Policies get all kinds except those for the engine alone: kStopped, kStopFailed, kHeld, kStartFailed, kCordoned,
// kUncordoned, kStarted, kProgress, kReported, kReleased, kPinned, kForgotten, kRoomUp and
// kProfiled.

// Returns true if the event takes the job's GPUs but keeps the job.
constexpr bool loses_gang(EventKind kind) { return kind == EventKind::kEvicted; }
// Returns true if the job needs a gang after the event: it is new, or lost its gang.
constexpr bool begins_to_wait(EventKind kind) {
  return kind == EventKind::kArrived || loses_gang(kind);
}
// Returns true if the job needs no gang after the event, for ever or until it arrives again. If a job is held, by its
// user or after a failed start, policies get a cancellation. Its release is an arrival.
constexpr bool ends_job(EventKind kind) {
  return kind == EventKind::kFinished || kind == EventKind::kFailed ||
         kind == EventKind::kCancelled;
}
// Returns true if GPUs may become free by the event.
constexpr bool frees_gpus(EventKind kind) {
  return ends_job(kind) || loses_gang(kind) || kind == EventKind::kGpusUp;
}
// Returns true if the event is about one run of a job (Event::run).
constexpr bool is_about_run(EventKind kind) {
  return kind == EventKind::kFinished || kind == EventKind::kFailed ||
         kind == EventKind::kStopped || kind == EventKind::kStopFailed ||
         kind == EventKind::kEvicted || kind == EventKind::kStartFailed ||
         kind == EventKind::kStarted || kind == EventKind::kProgress;
}

constexpr std::uint64_t kAllGpus = ~std::uint64_t{0};

// The data that a training job exchanges in each step, and the length of the step. A live world sees it once in a run.
// KnownSpeed predicts speeds of other gangs from it. kB are 1000 bytes.
struct JobProfile {
  std::uint32_t parameters_kb = 0;      // that are trained
  std::uint32_t gradients_kb = 0;       // 0: there is no profile
  std::uint32_t largest_tensor_kb = 0;  // of the gradients
  std::uint32_t workers = 0;            // processes or devices that add up their gradients
  std::uint32_t samples = 0;            // of one worker in a step; 0: not known
  std::uint32_t step_us = 0;            // of GPUs with speed 1; if `samples` is 0, of one such GPU

  // Returns whether a job can have it.
  bool is_plausible() const {
    return parameters_kb > 0 && largest_tensor_kb > 0 && largest_tensor_kb <= gradients_kb &&
           workers > 0 && step_us > 0;
  }
  friend bool operator==(const JobProfile&, const JobProfile&) = default;
};

struct Event {
  EventKind kind;
  JobId job;                      // for job events
  RunId run = 0;                  // for events about one run of a job
  NodeId node;                    // for node events and kCharged
  std::uint64_t gpus = kAllGpus;  // for kGpusDown, kGpusUp: bit i for GPU i of the node
  UserId user;                    // for kTickets, kForgotten and kCharged
  std::int64_t tickets = 0;       // for kTickets
  Rate rate;                      // for kProgress: the new rate
  Duration left;                  // for kReported: running time on the job's reference gang
  Duration overhead;              // for kStarted: measured time before the gang did any work
  Duration lost;                  // for kEvicted: running time whose work was lost
  bool is_pinned = false;         // for kPinned
  std::string_view model{};       // for kForgotten
  JobProfile profile{};           // for kProfiled
  GpuTime attained{};             // for kCharged, up to the time of the event
  // For kFailed, kCancelled, kStopFailed, kStartFailed and kCordoned; may be empty.
  std::string_view reason;
};

}  // namespace fairlead
