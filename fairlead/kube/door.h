// The Kubernetes backend's one door to an API server: calls, streams, time, and the wish that it end.
//
// Nothing of kube/ touches the network or a clock but through a KubeDoor, so the same code runs on a
// real server (CurlDoor) and on one in memory whose time is virtual (FakeServer).
//
// Calls and streams are begun at once and answered by wait(), one event at a time, in the order in
// which they came; several are on their way at once, and nothing says that they are answered in the
// order in which they were made. A door is used by one thread.
#pragma once

#include "fairlead/base/units.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead {

// The longest line of a stream, and the longest answer; what is longer ends the call with status 0.
constexpr std::size_t kKubeLineBytesMax = std::size_t{8} << 20;
constexpr std::size_t kKubeAnswerBytesMax = std::size_t{64} << 20;

// How long a call may take; after that it is answered with status 0.
constexpr Duration kKubeCallLimit = seconds(30);

// Content types of PATCH.
constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::string_view kStrategicMergePatch = "application/strategic-merge-patch+json";
constexpr std::string_view kJsonPatch = "application/json-patch+json";

struct KubeRequest {
  std::string method = "GET";
  std::string path;  // from the server's root, with query: "/api/v1/pods?limit=500"
  std::string body{};
  std::string content_type = "application/json";
};

// Calls and streams of one door; no two have the same. 0: none.
using CallId = std::uint64_t;

struct KubeEvent {
  enum class Kind : std::uint8_t {
    kTime,       // nothing came up to the time given
    kAnswer,     // to a call: `status`, and `text` is the body
    kLine,       // of a stream: `text`, without its end
    kEnd,        // of a stream: nothing more comes. Status 200: the server closed it in order
    kTerminate,  // the program is asked to leave; told once
    kReady,      // what the program waits for beside the server has come (CurlDoor::also_wait_for)
  };
  Kind kind = Kind::kTime;
  CallId call = 0;
  // HTTP's; 0: no answer came, or it broke off. A write that has status 0 may have taken effect, or
  // may yet take it.
  int status = 0;
  // Of an answer, the body; of an end with another status than 200, the server's answer. Where status
  // is 0, why, in words.
  std::string text{};
  // How long the server asks to wait before the next try (Retry-After), as with 429; 0: not said.
  Duration retry_after{};
};

class KubeDoor {
 public:
  virtual ~KubeDoor() = default;

  // Milliseconds since the door was opened. It never decreases and follows no change of the calendar.
  virtual Time now() = 0;
  // The calendar's milliseconds since 1970, for what others read; nothing may depend on its order.
  virtual std::int64_t unix_ms() = 0;
  // Uniform over all values: for jitter, and for names that no other process has.
  virtual std::uint64_t random() = 0;

  // Sends a request, which is answered by one kAnswer, within kKubeCallLimit.
  virtual CallId call(KubeRequest request) = 0;
  // Sends a request whose answer has no end of its own, as a watch: any number of kLine, then one
  // kEnd. It has no time limit: the caller drops one that is silent for too long.
  virtual CallId stream(KubeRequest request) = 0;
  // Nothing more comes of that call or stream; a request on its way may still take effect. One that
  // is over already, or 0, is no error.
  virtual void drop(CallId call) = 0;

  // What is next; at the latest kTime, at `until`, or at once where that is over.
  virtual KubeEvent wait(Time until) = 0;
};

}  // namespace fairlead
