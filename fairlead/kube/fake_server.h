// An API server in memory with a cluster behind it, in virtual time, for tests of the Kubernetes backend.
//
// The server is the world, not a client, so it outlives clients. open() returns a door; several may be
// open, for example for two schedulers that compete to lead. Time passes only in wait() of a door and in
// run_until(), and jumps to the next event. Calls take effect when they arrive, after a delay, and are
// answered after another delay. Equal seeds and calls give equal worlds.
//
//   FakeServer server(1);
//   server.add_node({.name = "n0", .gpus = 8, .product = "NVIDIA-H100-80GB-HBM3"});
//   server.add_job({.name_space = "vision", .name = "train", .pods = 2, .gpus = 8, .run = hours(1)});
//   const auto door = server.open();
//   door->call({.method = "GET", .path = "/api/v1/nodes"});
//   const KubeEvent event = door->wait(door->now() + seconds(1));
//
// Faults are scripted by call (fail), drawn by rates (set_rates), or happen at once (end_streams,
// go_away, compact, rewind). The objects are in store().
#pragma once

#include "fairlead/base/rng.h"
#include "fairlead/kube/door.h"
#include "fairlead/kube/fake_agenda.h"
#include "fairlead/kube/fake_cluster.h"
#include "fairlead/kube/fake_store.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fairlead {

struct FakeNode {
  std::string name;
  std::int64_t gpus = 8;
  std::string product = "NVIDIA-H100-80GB-HBM3";  // label nvidia.com/gpu.product
  std::string cpu = "96";
  std::string memory = "1024Gi";
  std::map<std::string, std::string> labels{};
  Json taints = Json::array();
};

// A Job, or a bare pod if `pods` is 0.
struct FakeJob {
  std::string name_space = "default";
  std::string name;
  std::int64_t pods = 1;  // parallelism and completions
  std::int64_t gpus = 1;  // GPUs of each pod
  Duration run{};         // time that each pod runs; 0: it does not end
  bool is_suspended = false;
  bool is_indexed = true;
  std::string scheduler = "fairlead";
  std::map<std::string, std::string> annotations{};      // the Job's
  std::map<std::string, std::string> labels{};           // the Job's
  std::map<std::string, std::string> pod_annotations{};  // on its pods
  std::map<std::string, std::string> pod_labels{};
  std::string resource = "nvidia.com/gpu";        // the resource that its pods request
  std::map<std::string, std::string> requests{};  // further requests of its pods, except GPUs
  Json pod_spec = Json::object();                 // further fields of their spec
};

struct FakeFault {
  enum class Kind : std::uint8_t {
    kStatus,       // answered with `status`, without effect
    kLostRequest,  // no effect, no answer
    kLostAnswer,   // it takes effect, no answer
    kLate,         // no answer; it takes effect after the client has given it up
  };
  Kind kind = Kind::kStatus;
  int status = 500;
  Duration retry_after{};
};

// Rates of faults, per call and per started stream.
struct FakeRates {
  double conflict = 0;      // part of writes: 409
  double too_many = 0;      // 429, with Retry-After
  double internal = 0;      // 500
  double lost_request = 0;  // part of calls
  double lost_answer = 0;   // part of calls
  double late = 0;          // part of calls
  double stream_ends = 0;   // closed in order within a minute
  double stream_breaks = 0;
  double stream_dies = 0;  // silent from then on, without an end
};

// A client's call.
struct FakeCall {
  Time at;  // the server's time
  std::string method;
  std::string path;
  std::string body;
  int status = 0;  // 0: no answer, or not yet
};

class FakeServer {
 public:
  explicit FakeServer(std::uint64_t seed);
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer();

  // Opens a separate client. REQUIRES: it is destroyed before the server.
  std::unique_ptr<KubeDoor> open();

  FakeStore& store() { return store_; }
  FakeCluster& cluster() { return cluster_; }
  FakeDelays& delays() { return delays_; }
  Time now() const { return agenda_.now(); }
  std::int64_t unix_ms() const { return kFakeEpochMs + now().ms; }
  // Lets time pass until `t` without a waiting client.
  void run_until(Time t);
  // Does `act` at that time.
  void at(Time t, std::function<void()> act) { agenda_.at(t, std::move(act)); }

  // -- The cluster's users.
  void add_node(const FakeNode& node);
  void set_node_ready(const std::string& name, bool is_ready);
  // Also creates the namespace.
  void add_job(const FakeJob& job);
  // Serves the operator's resource from then on; its objects get the children of its script.
  void add_operator(FakeOperator played) { cluster_.operators().add(std::move(played)); }
  // Handles any request at once: "POST", "/api/v1/namespaces/lab/configmaps", {...}.
  FakeAnswer act(std::string_view method, std::string_view path, const Json& body = {},
                 std::string_view content_type = kMergePatch);

  // -- Faults.
  // Applies `fault` to call or stream number `n` of all clients, counted from now (1: the next).
  void fail(std::uint64_t n, FakeFault fault) { by_number_[calls_.size() + n] = fault; }
  // Applies `fault` to the next `times` calls with that method whose path contains `part`.
  void fail_next(const std::string& method, const std::string& part, FakeFault fault,
                 std::uint64_t times = 1);
  void set_rates(const FakeRates& rates) { rates_ = rates; }
  // Close all open streams in order, break them off, or silence them for ever.
  void end_streams();
  void break_streams();
  void silence_streams();
  // Cuts all connections for `time`: streams break, calls are refused, controllers stand still.
  void go_away(Duration time);
  // Forgets the history up to now: a watch from an earlier version gets 410.
  void compact() { store_.compact(); }
  // Makes wait() of every door return kTerminate once.
  void terminate();

  // Returns all calls and streams of all clients, in order.
  const std::deque<FakeCall>& calls() const { return calls_; }
  std::size_t open_streams() const { return watches_.size(); }

 private:
  class Door;
  struct Inbox;
  struct Watch {
    std::weak_ptr<Inbox> inbox;
    FakeSelection selection;
    Time last;  // arrival of its last line
    bool is_dead = false;
    bool has_bookmarks = false;
    std::uint64_t from = 0;  // start version; it gets only later ones
  };
  struct NextFault {
    std::string method;
    std::string part;
    FakeFault fault;
    std::uint64_t left = 0;
  };

  CallId begin(const std::shared_ptr<Inbox>& inbox, KubeRequest&& request, bool is_stream);
  void arrive(const std::weak_ptr<Inbox>& inbox, CallId id, const KubeRequest& request,
              bool is_stream, const std::optional<FakeFault>& fault);
  void arrive_call(const std::weak_ptr<Inbox>& inbox, CallId id, const KubeRequest& request,
                   const std::optional<FakeFault>& fault);
  void open_watch(const std::weak_ptr<Inbox>& inbox, CallId id, const KubeRequest& request);
  void plan_end(CallId id, const FakePath& path);
  void plan_bookmark(CallId id, Duration after);
  void send_change(CallId id, const FakeChange& change);
  void send_bookmark(CallId id);
  void send_line(CallId id, std::string line);
  void end(CallId id, int status, std::string text);
  void end_all(int status, const std::string& text);
  void send(const std::weak_ptr<Inbox>& inbox, KubeEvent event, Time at);
  std::optional<FakeFault> fault_of(const KubeRequest& request, bool is_stream);
  std::optional<FakeFault> drawn_fault(const KubeRequest& request, bool is_stream);
  void disturb_stream(CallId id);
  Duration draw(FakeDelay delay);

  FakeAgenda agenda_;
  FakeStore store_;
  FakeDelays delays_;
  FakeCluster cluster_;
  Rng rng_;
  FakeRates rates_;
  std::map<std::uint64_t, FakeFault> by_number_;
  std::vector<NextFault> next_faults_;
  std::map<CallId, Watch> watches_;  // in the order of their start
  std::vector<std::weak_ptr<Inbox>> inboxes_;
  std::deque<FakeCall> calls_;  // the CallId is the position, counted from 1
  Time away_until_;
};

}  // namespace fairlead
