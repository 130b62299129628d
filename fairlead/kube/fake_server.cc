#include "fairlead/kube/fake_server.h"

#include "fairlead/base/check.h"
#include "fairlead/http/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace fairlead {
namespace {

std::int64_t number_in(std::string_view query, std::string_view name, std::int64_t otherwise) {
  const std::string text = query_value(query, name);
  std::int64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Json texts(const std::map<std::string, std::string>& map) {
  Json json = Json::object();
  for (const auto& [key, value] : map) json[key] = value;
  return json;
}

Json pod_spec(const FakeJob& job) {
  const Json gpus = {{job.resource, fmt::to_string(job.gpus)}};
  Json requests = texts(job.requests);
  requests.update(gpus);
  Json spec = {
      {"schedulerName", job.scheduler},
      {"restartPolicy", "Never"},
      {"containers", Json::array({{{"name", "train"},
                                   {"image", "train"},
                                   {"resources", {{"requests", requests}, {"limits", gpus}}}}})}};
  spec.update(job.pod_spec);
  return spec;
}

Json pod_metadata(const FakeJob& job) {
  Json annotations = texts(job.pod_annotations);
  if (job.run.ms > 0) annotations[std::string(kFakeRun)] = fmt::to_string(job.run.ms);
  return {{"annotations", std::move(annotations)}, {"labels", texts(job.pod_labels)}};
}

}  // namespace

// Events that were sent to a door and that its client has not taken yet.
struct FakeServer::Inbox {
  std::deque<KubeEvent> events;
  std::set<CallId> open;  // calls and streams that are not over
};

class FakeServer::Door final : public KubeDoor {
 public:
  Door(FakeServer& server, std::shared_ptr<Inbox> inbox, Rng rng)
      : server_(server), inbox_(std::move(inbox)), opened_(server.now()), rng_(rng) {}

  Time now() override { return {(server_.now() - opened_).ms}; }
  std::int64_t unix_ms() override { return server_.unix_ms(); }
  std::uint64_t random() override { return rng_.next(); }
  CallId call(KubeRequest request) override {
    return server_.begin(inbox_, std::move(request), false);
  }
  CallId stream(KubeRequest request) override {
    return server_.begin(inbox_, std::move(request), true);
  }
  void drop(CallId call) override {
    inbox_->open.erase(call);
    server_.watches_.erase(call);
    std::erase_if(inbox_->events, [&](const KubeEvent& e) { return call != 0 && e.call == call; });
  }
  KubeEvent wait(Time until) override {
    const Time limit = until == Time::never() ? until : opened_ + Duration{until.ms};
    while (inbox_->events.empty()) {
      FL_CHECK(limit != Time::never() || !server_.agenda_.is_empty(), "nothing will ever come");
      if (!server_.agenda_.step(limit) && inbox_->events.empty()) return {};
    }
    KubeEvent event = std::move(inbox_->events.front());
    inbox_->events.pop_front();
    return event;
  }

 private:
  FakeServer& server_;
  std::shared_ptr<Inbox> inbox_;
  Time opened_;
  Rng rng_;
};

FakeServer::FakeServer(std::uint64_t seed)
    : store_(seed), cluster_(store_, agenda_, delays_, seed), rng_(Rng(seed).split(2)) {
  store_.set_observer([this](const FakeChange& change) {
    cluster_.changed(change);
    for (const auto& [id, watch] : watches_) send_change(id, change);
  });
}

FakeServer::~FakeServer() = default;

std::unique_ptr<KubeDoor> FakeServer::open() {
  auto inbox = std::make_shared<Inbox>();
  inboxes_.push_back(inbox);
  return std::make_unique<Door>(*this, std::move(inbox), rng_.split(100 + inboxes_.size()));
}

void FakeServer::run_until(Time t) {
  while (agenda_.step(t)) continue;
}

Duration FakeServer::draw(FakeDelay delay) {
  const auto span = static_cast<std::uint64_t>((delay.most - delay.least).ms);
  return delay.least + Duration{static_cast<std::int64_t>(rng_.below(span + 1))};
}

// -- Calls.

CallId FakeServer::begin(const std::shared_ptr<Inbox>& inbox, KubeRequest&& request,
                         bool is_stream) {
  calls_.push_back({now(), request.method, request.path, request.body});
  const CallId id = calls_.size();
  inbox->open.insert(id);
  const auto fault = fault_of(request, is_stream);
  const Duration way = fault && fault->kind == FakeFault::Kind::kLate
                           ? kKubeCallLimit + milliseconds(200)
                           : draw(delays_.call);
  agenda_.after(way, [this, id, fault, is_stream, to = std::weak_ptr(inbox),
                      asked = std::move(request)] { arrive(to, id, asked, is_stream, fault); });
  if (fault && fault->kind != FakeFault::Kind::kStatus && !is_stream) {
    send(inbox, {KubeEvent::Kind::kAnswer, id, 0, "no answer came within 30 s"},
         now() + kKubeCallLimit);
  }
  return id;
}

void FakeServer::arrive(const std::weak_ptr<Inbox>& inbox, CallId id, const KubeRequest& request,
                        bool is_stream, const std::optional<FakeFault>& fault) {
  const auto kind = is_stream ? KubeEvent::Kind::kEnd : KubeEvent::Kind::kAnswer;
  if (now() < away_until_) {
    send(inbox, {kind, id, 0, "connection refused"}, now() + milliseconds(1));
  } else if (fault && fault->kind == FakeFault::Kind::kStatus) {
    calls_[id - 1].status = fault->status;
    const FakeAnswer answer = fake_failure(fault->status, "a fault of the test");
    send(inbox, {kind, id, fault->status, compact_text(answer.body), fault->retry_after},
         now() + draw(delays_.call));
  } else if (!is_stream) {
    arrive_call(inbox, id, request, fault);
  } else if (fault) {
    send(inbox, {kind, id, 0, "the connection broke"}, now() + kKubeCallLimit);
  } else {
    open_watch(inbox, id, request);
  }
}

void FakeServer::arrive_call(const std::weak_ptr<Inbox>& inbox, CallId id,
                             const KubeRequest& request, const std::optional<FakeFault>& fault) {
  if (fault && fault->kind == FakeFault::Kind::kLostRequest) return;
  const FakeAnswer answer = store_.handle(request.method, FakePath::parse(request.path),
                                          request.body, request.content_type, unix_ms());
  calls_[id - 1].status = answer.status;
  if (fault) return;
  send(inbox, {KubeEvent::Kind::kAnswer, id, answer.status, compact_text(answer.body)},
       now() + draw(delays_.call));
}

// Hands over an event at that time, unless the call is over or dropped by then.
void FakeServer::send(const std::weak_ptr<Inbox>& inbox, KubeEvent event, Time at) {
  agenda_.at(at, [inbox, event = std::move(event)] {
    const auto to = inbox.lock();
    if (!to || !to->open.contains(event.call)) return;
    if (event.kind != KubeEvent::Kind::kLine) to->open.erase(event.call);
    to->events.push_back(event);
  });
}

// -- Watches.

void FakeServer::open_watch(const std::weak_ptr<Inbox>& inbox, CallId id,
                            const KubeRequest& request) {
  const auto to = inbox.lock();
  if (!to || !to->open.contains(id)) return;
  const FakePath path = FakePath::parse(request.path);
  if (!store_.serves(path.resource)) {
    const std::string text = compact_text(fake_failure(404, "page not found").body);
    return send(inbox, {KubeEvent::Kind::kEnd, id, 404, text}, now() + draw(delays_.call));
  }
  const bool has_bookmarks = query_value(path.query, "allowWatchBookmarks") == "true";
  watches_[id] = {inbox, FakeSelection::of(path), now(), false, has_bookmarks};
  calls_[id - 1].status = 200;
  const auto version = static_cast<std::uint64_t>(number_in(path.query, "resourceVersion", 0));
  const FakeSelection selection = watches_[id].selection;
  if (version == 0) {
    for (const FakeObject& object : store_.list(selection)) {
      send_line(id, compact_text({{"type", "ADDED"}, {"object", *object}}));
    }
  } else if (const auto changes = store_.changes_after(version)) {
    watches_[id].from = version;
    for (const FakeChange& change : *changes) send_change(id, change);
  } else {
    const Json body = fake_failure(410, fmt::format("too old resource version: {}", version)).body;
    send_line(id, compact_text({{"type", "ERROR"}, {"object", body}}));
    end(id, 200, "");
    return;
  }
  plan_end(id, path);
  disturb_stream(id);
}

void FakeServer::plan_end(CallId id, const FakePath& path) {
  const Duration length = seconds(number_in(path.query, "timeoutSeconds", 1800));
  agenda_.after(length, [this, id] { end(id, 200, ""); });
  if (!watches_[id].has_bookmarks) return;
  plan_bookmark(id, seconds(60));
  agenda_.after(std::max(length - seconds(2), Duration()), [this, id] { send_bookmark(id); });
}

void FakeServer::plan_bookmark(CallId id, Duration after) {
  agenda_.after(after, [this, id, after] {
    if (!watches_.contains(id)) return;
    send_bookmark(id);
    plan_bookmark(id, after);
  });
}

void FakeServer::send_change(CallId id, const FakeChange& change) {
  const Watch& watch = watches_[id];
  if (change.version <= watch.from) return;
  std::string line = store_.line(change, watch.selection);
  if (!line.empty()) send_line(id, std::move(line));
}

// A real server has none where nothing of the resource has changed since the watch began.
void FakeServer::send_bookmark(CallId id) {
  const auto found = watches_.find(id);
  if (found == watches_.end()) return;
  const std::string& resource = found->second.selection.resource;
  if (!store_.serves(resource)) return end(id, 200, "");
  const std::uint64_t version = store_.version_of(resource);
  if (version > found->second.from) send_line(id, store_.bookmark(resource));
}

// Lines of one stream arrive in order.
void FakeServer::send_line(CallId id, std::string line) {
  Watch& watch = watches_[id];
  if (watch.is_dead) return;
  watch.last = std::max(watch.last, now() + draw(delays_.watch));
  send(watch.inbox, {KubeEvent::Kind::kLine, id, 200, std::move(line)}, watch.last);
}

void FakeServer::end(CallId id, int status, std::string text) {
  const auto found = watches_.find(id);
  if (found == watches_.end() || found->second.is_dead) return;
  const Watch watch = std::move(found->second);
  watches_.erase(found);
  send(watch.inbox, {KubeEvent::Kind::kEnd, id, status, std::move(text)},
       std::max(watch.last, now()));
}

void FakeServer::end_all(int status, const std::string& text) {
  std::vector<CallId> ids;
  for (const auto& [id, watch] : watches_) ids.push_back(id);
  for (const CallId id : ids) end(id, status, text);
}

void FakeServer::end_streams() { end_all(200, ""); }
void FakeServer::break_streams() { end_all(0, "the connection broke"); }

void FakeServer::silence_streams() {
  for (auto& [id, watch] : watches_) watch.is_dead = true;
}

// -- Faults.

void FakeServer::go_away(Duration time) {
  away_until_ = std::max(away_until_, now() + time);
  cluster_.stand_still_until(away_until_);
  break_streams();
}

void FakeServer::terminate() {
  for (const auto& to : inboxes_) {
    if (const auto inbox = to.lock()) inbox->events.push_back({KubeEvent::Kind::kTerminate});
  }
}

void FakeServer::fail_next(const std::string& method, const std::string& part, FakeFault fault,
                           std::uint64_t times) {
  next_faults_.push_back({method, part, fault, times});
}

std::optional<FakeFault> FakeServer::fault_of(const KubeRequest& request, bool is_stream) {
  const auto numbered = by_number_.find(calls_.size());
  if (numbered != by_number_.end()) return numbered->second;
  for (NextFault& next : next_faults_) {
    if (next.left == 0 || next.method != request.method ||
        request.path.find(next.part) == request.path.npos) {
      continue;
    }
    --next.left;
    return next.fault;
  }
  return drawn_fault(request, is_stream);
}

std::optional<FakeFault> FakeServer::drawn_fault(const KubeRequest& request, bool is_stream) {
  using Kind = FakeFault::Kind;
  double draw = rng_.uniform();
  const auto falls_on = [&](double rate) {
    const bool falls = draw >= 0 && draw < rate;
    draw -= rate;
    return falls;
  };
  if (falls_on(rates_.too_many)) return FakeFault{Kind::kStatus, 429, seconds(1)};
  if (falls_on(rates_.internal)) return FakeFault{Kind::kStatus, 500, {}};
  if (is_stream) return std::nullopt;
  if (request.method != "GET" && falls_on(rates_.conflict))
    return FakeFault{Kind::kStatus, 409, {}};
  if (falls_on(rates_.lost_request)) return FakeFault{Kind::kLostRequest, 0, {}};
  if (falls_on(rates_.lost_answer)) return FakeFault{Kind::kLostAnswer, 0, {}};
  if (falls_on(rates_.late)) return FakeFault{Kind::kLate, 0, {}};
  return std::nullopt;
}

void FakeServer::disturb_stream(CallId id) {
  const Duration later = draw({milliseconds(1), seconds(60)});
  const double draw = rng_.uniform();
  if (draw < rates_.stream_ends) {
    agenda_.after(later, [this, id] { end(id, 200, ""); });
  } else if (draw < rates_.stream_ends + rates_.stream_breaks) {
    agenda_.after(later, [this, id] { end(id, 0, "the connection broke"); });
  } else if (draw < rates_.stream_ends + rates_.stream_breaks + rates_.stream_dies) {
    agenda_.after(later, [this, id] {
      const auto found = watches_.find(id);
      if (found != watches_.end()) found->second.is_dead = true;
    });
  }
}

// -- The cluster's users.

FakeAnswer FakeServer::act(std::string_view method, std::string_view path, const Json& body,
                           std::string_view content_type) {
  return store_.handle(method, FakePath::parse(path), body.is_null() ? "" : compact_text(body),
                       content_type, unix_ms());
}

void FakeServer::add_node(const FakeNode& node) {
  Json labels = texts(node.labels);
  labels["kubernetes.io/hostname"] = node.name;
  labels["nvidia.com/gpu.product"] = node.product;
  labels["nvidia.com/gpu.count"] = fmt::to_string(node.gpus);
  const Json allocatable = {{"nvidia.com/gpu", fmt::to_string(node.gpus)},
                            {"cpu", node.cpu},
                            {"memory", node.memory},
                            {"pods", "110"}};
  store_.put({std::string(kNodes), "", node.name},
             {{"metadata", {{"labels", std::move(labels)}}},
              {"spec", {{"taints", node.taints}}},
              {"status",
               {{"allocatable", allocatable},
                {"capacity", allocatable},
                {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}},
             unix_ms());
}

void FakeServer::set_node_ready(const std::string& name, bool is_ready) {
  const Json taint = {{"key", "node.kubernetes.io/unreachable"}, {"effect", "NoSchedule"}};
  act("PATCH", "/api/v1/nodes/" + name,
      {{"spec", {{"taints", is_ready ? Json() : Json::array({taint})}}}});
  act("PATCH", "/api/v1/nodes/" + name + "/status",
      {{"status",
        {{"conditions",
          Json::array({{{"type", "Ready"}, {"status", is_ready ? "True" : "Unknown"}}})}}}});
}

void FakeServer::add_job(const FakeJob& job) {
  act("POST", "/api/v1/namespaces", {{"metadata", {{"name", job.name_space}}}});
  const std::string where = "/namespaces/" + job.name_space;
  Json pod = {{"metadata", pod_metadata(job)}, {"spec", pod_spec(job)}};
  if (job.pods == 0) {
    pod["metadata"]["name"] = job.name;
    act("POST", "/api/v1" + where + "/pods", pod);
    return;
  }
  act("POST", "/apis/batch/v1" + where + "/jobs",
      {{"metadata",
        {{"name", job.name},
         {"annotations", texts(job.annotations)},
         {"labels", texts(job.labels)}}},
       {"spec",
        {{"parallelism", job.pods},
         {"completions", job.pods},
         {"completionMode", job.is_indexed ? "Indexed" : "NonIndexed"},
         {"suspend", job.is_suspended},
         {"backoffLimit", 6},
         {"template", std::move(pod)}}}});
}

}  // namespace fairlead
