// The Kubernetes backend's client of an API server: calls, streams, time, and the request to end.
//
// The code in kube/ touches the network and the clock only through a KubeDoor, so the same code runs against a real
// server (CurlDoor) and against one in memory with virtual time (FakeServer).
//
// Calls and streams start immediately. wait() returns their answers, one event at a time, in the order of arrival;
// several may be under way at once, and the order of answers may differ from the order of calls. One thread uses a
// door.
#pragma once

#include "fairlead/base/units.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead {

// The longest line of a stream, and the longest answer; a longer one ends the call with status 0.
constexpr std::size_t kKubeLineBytesMax = std::size_t{8} << 20;
constexpr std::size_t kKubeAnswerBytesMax = std::size_t{64} << 20;

// The limit of a call's duration; afterwards it is answered with status 0.
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
    kTime,       // no event until the given time
    kAnswer,     // to a call: `status`, and the body as `text`
    kLine,       // a line of a stream: `text`, without its end
    kEnd,        // the end of a stream: no event follows. Status 200: the server closed it in order
    kTerminate,  // the program is asked to leave; reported once
    kReady,      // the program's other event source is ready (CurlDoor::also_wait_for)
  };
  Kind kind = Kind::kTime;
  CallId call = 0;
  // The HTTP status; 0: no answer came, or it broke off. A write with status 0 may have taken effect, or may still take
  // effect.
  int status = 0;
  // The body of an answer; at an end with another status than 200, the server's answer. For status 0, the reason in
  // words.
  std::string text{};
  // The server's wait before the next try (Retry-After), for example with 429; 0: none given.
  Duration retry_after{};
};

class KubeDoor {
 public:
  virtual ~KubeDoor() = default;

  // Returns the milliseconds since the door was opened. Never decreases, and ignores changes of the calendar.
  virtual Time now() = 0;
  // Returns the calendar's milliseconds since 1970, for texts that others read; nothing may depend on its order.
  virtual std::int64_t unix_ms() = 0;
  // Returns a number uniform over all values: for jitter, and for names that no other process has.
  virtual std::uint64_t random() = 0;

  // Sends a request, which is answered by one kAnswer, within kKubeCallLimit.
  virtual CallId call(KubeRequest request) = 0;
  // Sends a request with an endless answer, for example a watch: any number of kLine, then one kEnd. It has no time
  // limit: the caller drops one that is silent for too long.
  virtual CallId stream(KubeRequest request) = 0;
  // Ends the events of that call or stream; a request on its way may still take effect. A finished one, or 0, is not an
  // error.
  virtual void drop(CallId call) = 0;

  // Returns the next event: kTime at `until`, or immediately if `until` has passed.
  virtual KubeEvent wait(Time until) = 0;
};

}  // namespace fairlead
