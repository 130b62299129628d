// The objects of one resource on the API server: a list, then watches that continue from it.
//
// A state machine on the events of a KubeDoor, without threads: hand it every event, and wake it at wake_at(). It
// notifies a sink of added, modified and deleted objects, and after each whole list that it is synced. Objects missing
// in a list are reported as deleted, and an object created again under its old name as deleted and added, so the sink
// never needs to compare.
//
// Watches are short (20 to 28 s) and each asks for a bookmark before its end. A stream that died unnoticed is therefore
// detected within seconds after that, and is_fresh() depends only on received messages.
//
//   end of a stream, in order   the next starts immediately from the last version
//   broken, silent, 429, 5xx    the same after a pause: 0.25 s, doubling up to 30 s, with jitter, and
//                               no shorter than the server asks for
//   expired (410)               a new list, also after a pause; the same for a line that is not JSON, and
//                               if the server is behind our version, for example after a restore
//   three streams without any   a look at the server's version: a server sends nothing about unchanged
//   line                        objects, and nothing for versions that it does not have yet
#pragma once

#include "fairlead/kube/door.h"
#include "fairlead/kube/json.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

// Namespace (empty: none) and name.
using KubeName = std::pair<std::string, std::string>;

struct ReflectedChange {
  enum class Kind : std::uint8_t { kAdded, kModified, kDeleted, kSynced } kind;
  KubeName name{};                       // not of kSynced
  std::shared_ptr<const Json> object{};  // kDeleted: the last known object
  std::shared_ptr<const Json> before{};  // kModified: the object before
};

// The reasons for a list of all objects.
enum class ListCause : std::uint8_t { kStart, kExpired, kWentBack, kGarbled };
constexpr std::size_t kListCauses = 4;
std::string_view list_cause_name(ListCause cause);

struct ReflectorFigures {
  std::array<std::uint64_t, kListCauses> lists{};  // by cause
  std::uint64_t streams = 0;
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;    // bytes of all lines
  std::uint64_t changes = 0;  // reported to the sink
  std::uint64_t failures = 0;
};

class Reflector {
 public:
  using Sink = std::function<void(const ReflectedChange&)>;

  // Reflects objects of `path` ("/api/v1/pods") that match `selector`, a part of a query with its values encoded
  // ("fieldSelector=spec.schedulerName%3Dfairlead"); empty: all. The sink must not call this. REQUIRES: the door
  // outlives this.
  Reflector(KubeDoor& door, std::string path, std::string selector, Sink sink);
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;
  ~Reflector();

  // Returns true if the event was its own.
  bool handle(const KubeEvent& event);
  // Call it at wake_at() or later; earlier calls do nothing. The first call starts the reflector.
  void wake();
  Time wake_at() const { return wake_at_; }

  // True once a whole list was reported.
  bool is_synced() const { return heard_.has_value(); }
  // Returns the time since the server's last confirmation of the state: a line, the end of a stream, a list. REQUIRES:
  // is_synced().
  Duration age() const;
  bool is_fresh(Duration limit = seconds(30)) const { return is_synced() && age() <= limit; }

  // Returns the objects; valid until the next handle().
  using Objects = std::map<KubeName, std::shared_ptr<const Json>>;
  const Objects& objects() const { return objects_; }
  const std::string& path() const { return path_; }
  // Returns why the last try failed; empty: it did not.
  const std::string& trouble() const { return trouble_; }
  const ReflectorFigures& figures() const { return figures_; }

 private:
  enum class State : std::uint8_t { kWaiting, kListing, kProbing, kWatching };
  using Kind = ReflectedChange::Kind;

  void relist(ListCause cause);
  void list();
  void list_chunk(const std::string& token);
  void handle_chunk(const KubeEvent& event);
  void take_list(const std::string& version);
  void probe();
  void handle_probe(const KubeEvent& event);
  void watch();
  void hear(Time at);
  void handle_line(const std::string& text);
  void handle_error(const Json& status);
  void handle_end(const KubeEvent& event);
  void take(const std::string& type, Json object);
  void put(const KubeName& name, std::shared_ptr<const Json> object);
  void remove(Objects::iterator at);
  void tell(const ReflectedChange& change);
  // Notes a failure: the next try is later.
  void fail(std::string why, Duration at_least);
  // Drops the current call or stream.
  void leave();
  std::string query(std::string_view what) const;

  KubeDoor& door_;
  std::string path_;
  std::string selector_;
  Sink sink_;
  State state_ = State::kWaiting;
  CallId call_ = 0;
  Time wake_at_;
  std::optional<ListCause> list_next_ = ListCause::kStart;  // nothing: a watch is next
  Objects objects_;
  std::string version_;  // the start of the next watch
  std::optional<Time> heard_;
  Time begun_;                // start of the list or the stream
  std::vector<Json> chunks_;  // items of the list so far
  bool is_chunked_ = true;    // false: a list in chunks expired before its end
  std::uint64_t lines_of_stream_ = 0;
  int quiet_streams_ = 0;  // in a row
  int failures_ = 0;       // in a row
  std::string trouble_;
  ReflectorFigures figures_;
};

}  // namespace fairlead
