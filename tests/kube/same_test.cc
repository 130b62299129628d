// The fake API server answers like a real one. One list of calls, with answers recorded from
// Kubernetes, goes to the fake server always. It goes to a real server too if
// FAIRLEAD_TEST_KUBECONFIG names one. No kubelet is involved: the pods are bound to a node that
// does not exist.

#include "fairlead/kube/curl_door.h"
#include "fairlead/kube/fake_server.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace fairlead {
namespace {

constexpr const char* kVariable = "FAIRLEAD_TEST_KUBECONFIG";
constexpr std::string_view kMerge = kMergePatch;

const char* variable(const char* name) {
  return std::string_view(name) == "KUBECONFIG" ? std::getenv(kVariable) : nullptr;
}

Json pod(const std::string& name) {
  return {{"metadata", {{"name", name}, {"labels", {{"app", "same"}}}}},
          {"spec",
           {{"schedulerName", "fairlead"},
            {"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}}}};
}

Json job() {
  Json shape = pod("");
  shape["metadata"].erase("name");
  shape["spec"]["restartPolicy"] = "Never";
  return {{"metadata", {{"name", "train"}}},
          {"spec",
           {{"parallelism", 2},
            {"completions", 2},
            {"suspend", true},
            {"completionMode", "Indexed"},
            {"template", shape}}}};
}

// The answers of Kubernetes 1.36.
constexpr std::string_view kAnswers = R"(make: 201
phase: Pending
make again: 409 AlreadyExists
read: 200
read none: 404 NotFound
bind as another: 409 Conflict
bind as of old: 409 Conflict
bind none: 404 NotFound
bind: 201
bind again: 409 Conflict
read it: 200
node: none-such
annotation: 3
scheduled: True
wish: 200
wish as of old: 409 Conflict
report as another: 422 Invalid
report: 200
run: false 1
runs: false 1
delete as another: 409 Conflict
delete: 200
grace: 25
delete at once: 200
delete none: 404 NotFound
make a gated one: 201
reason: SchedulingGated
bind it: 409 Conflict
add a gate: 422 Invalid
change its image: 422 Invalid
open it: 200
mark it: 200
read it: 200
reason: Unschedulable
delete it: 200
read it: 404 NotFound
discover: 200
has jobs: yes
discover none: 404
make one to evict: 201
bind it: 201
mark as another: 422 Invalid
mark as preempted: 200
reason: PreemptionByScheduler
evict as another: 409 Conflict
make a budget: 201
allows: 0
run it: 200
evict against the budget: 429 TooManyRequests
delete the budget: 200
evict: 201
reason: EvictionByEvictionAPI
evict again: 201
delete at once: 200
evict none: 404 NotFound
evict one without a node: 201
read it: 404 NotFound
make a job: 201
is suspended: yes
move: 200
resume: 200
has pods: yes
is resumed: yes
list: 200
rack: r
owner: Job
rack: r
owner: Job
index: 0
index: 1
move while it runs: 422 Invalid
suspend: 200
has no pods: yes
is suspended: yes
read: 200
failed: 0
delete: 200
make: 201
change nothing: 200
same version: yes
change it as of old: 409 Conflict
read: 200
replace: 200
replace as of old: 409 Conflict
of no known type: 415 UnsupportedMediaType
none: 404 NotFound
no such resource: 404 NotFound
a chunk of nothing: 400 BadRequest
make a node: 201
offer slots: 200
slots: 4
per GPU: 2
cordoned: no
delete the node: 200
)";

// The calls, and their answers.
class Story {
 public:
  Story(KubeDoor& door, const std::string& name_space)
      : door_(door),
        core_("/api/v1/namespaces/" + name_space),
        batch_("/apis/batch/v1/namespaces/" + name_space) {}

  std::string tell() {
    pods();
    evictions();
    jobs();
    patches();
    nodes();
    return fmt::format("{}\n", fmt::join(told_, "\n"));
  }

 private:
  Json ask(const std::string& what, const std::string& method, const std::string& path,
           const Json& body = {}, std::string_view type = "application/json") {
    const CallId id =
        door_.call({method, path, body.is_null() ? "" : compact_text(body), std::string(type)});
    KubeEvent event;
    while (event.call != id) event = door_.wait(door_.now() + seconds(60));
    Json answer = parsed_json(event.text).value_or(Json());
    const std::string& reason = text_at(answer, {"reason"});
    told_.push_back(
        fmt::format("{}: {}{}{}", what, event.status, reason.empty() ? "" : " ", reason));
    return answer;
  }
  void note(const std::string& what, const std::string& value) {
    told_.push_back(fmt::format("{}: {}", what, value));
  }
  static Json binding(const Json& metadata) {
    return {{"metadata", metadata}, {"target", {{"kind", "Node"}, {"name", "none-such"}}}};
  }
  // Asks until `is_so` returns true for the answer, for up to 20 s.
  template <class IsSo>
  void until(const std::string& what, const std::string& path, const IsSo& is_so) {
    const std::size_t before = told_.size();
    bool is = false;
    for (const Time end = door_.now() + seconds(20); !is && door_.now() < end;) {
      is = is_so(ask("", "GET", path));
      door_.wait(door_.now() + milliseconds(50));
    }
    told_.resize(before);
    note(what, is ? "yes" : "no");
  }

  void pods() {
    const std::string pods = core_ + "/pods";
    const Json made = ask("make", "POST", pods, pod("a"));
    note("phase", text_at(made, {"status", "phase"}));
    ask("make again", "POST", pods, pod("a"));
    ask("read", "GET", pods + "/a");
    ask("read none", "GET", pods + "/none");
    ask("bind as another", "POST", pods + "/a/binding", binding({{"name", "a"}, {"uid", "7"}}));
    ask("bind as of old", "POST", pods + "/a/binding",
        binding({{"name", "a"}, {"resourceVersion", "1"}}));
    ask("bind none", "POST", pods + "/none/binding", binding({{"name", "none"}}));
    ask("bind", "POST", pods + "/a/binding",
        binding(
            {{"name", "a"}, {"uid", made["metadata"]["uid"]}, {"annotations", {{"gpus", "3"}}}}));
    ask("bind again", "POST", pods + "/a/binding", binding({{"name", "a"}}));
    const Json bound = ask("read it", "GET", pods + "/a");
    note("node", text_at(bound, {"spec", "nodeName"}));
    note("annotation", text_at(bound, {"metadata", "annotations", "gpus"}));
    const Json& scheduled = item_at(bound, {"status", "conditions"}, "type", "PodScheduled");
    note("scheduled", text_at(scheduled, {"status"}));
    marks(pods + "/a", bound);
    ask("delete as another", "DELETE", pods + "/a", {{"preconditions", {{"uid", "7"}}}});
    const Json leaving = ask("delete", "DELETE", pods + "/a", {{"gracePeriodSeconds", 25}});
    note("grace", fmt::to_string(integer_at(leaving, {"metadata", "deletionGracePeriodSeconds"})));
    ask("delete at once", "DELETE", pods + "/a", {{"gracePeriodSeconds", 0}});
    ask("delete none", "DELETE", pods + "/a");
    gates(pods);
  }

  // The marks of a pod by which the scheduler and agents communicate.
  void marks(const std::string& path, const Json& bound) {
    const auto mark = [](const char* name, const char* text) {
      return Json{{"annotations", {{std::string("fairlead.dev/") + name, text}}}};
    };
    Json wish = mark("run", "false 1");
    wish["resourceVersion"] = bound["metadata"]["resourceVersion"];
    ask("wish", "PATCH", path, {{"metadata", wish}}, kMerge);
    ask("wish as of old", "PATCH", path, {{"metadata", wish}}, kMerge);
    Json report = mark("runs", "false 1");
    report["uid"] = "7";
    ask("report as another", "PATCH", path, {{"metadata", report}}, kMerge);
    report["uid"] = bound["metadata"]["uid"];
    const Json marked = ask("report", "PATCH", path, {{"metadata", report}}, kMerge);
    for (const char* name : {"run", "runs"}) {
      note(name, text_at(marked, {"metadata", "annotations", std::string("fairlead.dev/") + name}));
    }
  }

  void nodes() {
    const std::string name = "same-" + fmt::format("{:x}", door_.random());
    const std::string path = "/api/v1/nodes/" + name;
    ask("make a node", "POST", "/api/v1/nodes", {{"metadata", {{"name", name}}}});
    const Json slots = {{"fairlead.dev/gpu-slot", "4"}};
    const Json offered =
        ask("offer slots", "PATCH", path + "/status",
            {{"metadata", {{"annotations", {{"fairlead.dev/slots-per-gpu", "2"}}}}},
             {"spec", {{"unschedulable", true}}},
             {"status", {{"capacity", slots}, {"allocatable", slots}}}},
            kMerge);
    note("slots", text_at(offered, {"status", "allocatable", "fairlead.dev/gpu-slot"}));
    note("per GPU", text_at(offered, {"metadata", "annotations", "fairlead.dev/slots-per-gpu"}));
    note("cordoned", is_true_at(offered, {"spec", "unschedulable"}) ? "yes" : "no");
    ask("delete the node", "DELETE", path);
  }

  void gates(const std::string& pods) {
    Json gated = pod("g");
    gated["spec"]["schedulingGates"] = Json::array({{{"name", "fairlead.dev/hold"}}});
    const Json made = ask("make a gated one", "POST", pods, gated);
    const Json& condition = item_at(made, {"status", "conditions"}, "type", "PodScheduled");
    note("reason", text_at(condition, {"reason"}));
    ask("bind it", "POST", pods + "/g/binding", binding({{"name", "g"}}));
    Json more = Json::array({{{"name", "fairlead.dev/hold"}}, {{"name", "fairlead.dev/more"}}});
    ask("add a gate", "PATCH", pods + "/g", {{"spec", {{"schedulingGates", more}}}}, kMerge);
    ask("change its image", "PATCH", pods + "/g", {{"spec", {{"schedulerName", "other"}}}}, kMerge);
    ask("open it", "PATCH", pods + "/g", {{"spec", {{"schedulingGates", nullptr}}}}, kMerge);
    ask("mark it", "PATCH", pods + "/g/status",
        {{"status",
          {{"conditions", Json::array({{{"type", "PodScheduled"},
                                        {"status", "False"},
                                        {"reason", "Unschedulable"},
                                        {"message", "waits"}}})}}}},
        kStrategicMergePatch);
    const Json marked = ask("read it", "GET", pods + "/g");
    const Json& now = item_at(marked, {"status", "conditions"}, "type", "PodScheduled");
    note("reason", text_at(now, {"reason"}));
    ask("delete it", "DELETE", pods + "/g");
    ask("read it", "GET", pods + "/g");
  }

  static Json eviction(const std::string& name, const Json& uid) {
    return {{"apiVersion", "policy/v1"},
            {"kind", "Eviction"},
            {"metadata", {{"name", name}}},
            {"deleteOptions", {{"preconditions", {{"uid", uid}}}}}};
  }
  void note_target(const Json& pod) {
    const Json& target = item_at(pod, {"status", "conditions"}, "type", "DisruptionTarget");
    note("reason", text_at(target, {"reason"}));
  }

  void evictions() {
    const Json served = ask("discover", "GET", "/apis/batch/v1");
    note("has jobs", item_at(served, {"resources"}, "name", "jobs").is_object() ? "yes" : "no");
    ask("discover none", "GET", "/apis/none.fairlead.dev/v1");
    told_.back().resize(std::string_view("discover none: 404").size());  // the real one has no JSON
    const std::string pods = core_ + "/pods";
    const Json uid = ask("make one to evict", "POST", pods, pod("e"))["metadata"]["uid"];
    ask("bind it", "POST", pods + "/e/binding", binding({{"name", "e"}}));
    const auto mark = [](const Json& of) {
      return Json{{"metadata", {{"uid", of}}},
                  {"status",
                   {{"conditions", Json::array({{{"type", "DisruptionTarget"},
                                                 {"status", "True"},
                                                 {"reason", "PreemptionByScheduler"}}})}}}};
    };
    ask("mark as another", "PATCH", pods + "/e/status", mark("7"), kStrategicMergePatch);
    note_target(
        ask("mark as preempted", "PATCH", pods + "/e/status", mark(uid), kStrategicMergePatch));
    ask("evict as another", "POST", pods + "/e/eviction", eviction("e", "7"));
    budgets(pods, uid);
    ask("evict none", "POST", pods + "/none/eviction", eviction("none", uid));
    const Json loose = ask("", "POST", pods, pod("l"))["metadata"]["uid"];
    told_.pop_back();
    ask("evict one without a node", "POST", pods + "/l/eviction", eviction("l", loose));
    ask("read it", "GET", pods + "/l");
  }

  void budgets(const std::string& pods, const Json& uid) {
    const std::string all =
        "/apis/policy/v1" + core_.substr(core_.find("/namespaces")) + "/poddisruptionbudgets";
    const Json budget =
        ask("make a budget", "POST", all,
            {{"metadata", {{"name", "b"}}},
             {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", "same"}}}}}}}});
    note("allows", fmt::to_string(integer_at(budget, {"status", "disruptionsAllowed"})));
    const Json runs = {{"status",
                        {{"phase", "Running"},
                         {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
    ask("run it", "PATCH", pods + "/e/status", runs, kStrategicMergePatch);
    ask("evict against the budget", "POST", pods + "/e/eviction", eviction("e", uid));
    ask("delete the budget", "DELETE", all + "/b");
    ask("evict", "POST", pods + "/e/eviction", eviction("e", uid));
    note_target(ask("", "GET", pods + "/e"));
    told_.erase(told_.end() - 2);
    ask("evict again", "POST", pods + "/e/eviction", eviction("e", uid));
    ask("delete at once", "DELETE", pods + "/e", {{"gracePeriodSeconds", 0}});
  }

  void jobs() {
    const std::string train = batch_ + "/jobs/train";
    const std::string members =
        core_ + "/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3Dtrain";
    const auto has = [](std::size_t count) {
      return [count](const Json& list) { return json_at(list, {"items"}).size() == count; };
    };
    const auto suspended = [](const char* status) {
      return [status](const Json& j) {
        return text_at(item_at(j, {"status", "conditions"}, "type", "Suspended"), {"status"}) ==
               status;
      };
    };
    const Json move = {{"spec", {{"template", {{"spec", {{"nodeSelector", {{"rack", "r"}}}}}}}}}};
    const Json back = {{"spec", {{"template", {{"spec", {{"nodeSelector", nullptr}}}}}}}};
    const auto suspend = [](bool is) { return Json{{"spec", {{"suspend", is}}}}; };
    ask("make a job", "POST", batch_ + "/jobs", job());
    until("is suspended", train, suspended("True"));
    ask("move", "PATCH", train, move, kMerge);
    ask("resume", "PATCH", train, suspend(false), kMerge);
    until("has pods", members, has(2));
    until("is resumed", train, suspended("False"));
    const Json list = ask("list", "GET", members);
    std::vector<std::string> indices;
    for (const Json& member : json_at(list, {"items"})) {
      indices.push_back(
          text_at(member, {"metadata", "annotations", "batch.kubernetes.io/job-completion-index"}));
      note("rack", text_at(member, {"spec", "nodeSelector", "rack"}));
      note("owner", text_at(member["metadata"]["ownerReferences"][0], {"kind"}));
    }
    std::ranges::sort(indices);
    for (const std::string& index : indices) note("index", index);
    ask("move while it runs", "PATCH", train, back, kMerge);
    ask("suspend", "PATCH", train, suspend(true), kMerge);
    until("has no pods", members, has(0));
    until("is suspended", train, suspended("True"));
    const Json stopped = ask("read", "GET", train);
    note("failed", fmt::to_string(integer_at(stopped, {"status", "failed"})));
    ask("delete", "DELETE", train, {{"propagationPolicy", "Background"}});
  }

  void patches() {
    const std::string maps = core_ + "/configmaps";
    const Json made =
        ask("make", "POST", maps, {{"metadata", {{"name", "m"}}}, {"data", {{"a", "1"}}}});
    const Json same = ask("change nothing", "PATCH", maps + "/m", {{"data", {{"a", "1"}}}}, kMerge);
    note("same version",
         made["metadata"]["resourceVersion"] == same["metadata"]["resourceVersion"] ? "yes" : "no");
    ask("change it as of old", "PATCH", maps + "/m",
        {{"metadata", {{"resourceVersion", "1"}}}, {"data", {{"a", "2"}}}}, kMerge);
    Json all = ask("read", "GET", maps + "/m");
    all["data"]["a"] = "3";
    ask("replace", "PUT", maps + "/m", all);
    ask("replace as of old", "PUT", maps + "/m", all);
    ask("of no known type", "PATCH", maps + "/m", {{"data", {{"a", "1"}}}}, "text/plain");
    ask("none", "PATCH", maps + "/none", {{"data", {{"a", "1"}}}}, kMerge);
    ask("no such resource", "GET", core_ + "/nonesuch");
    ask("a chunk of nothing", "GET", maps + "?limit=2&continue=what");
  }

  KubeDoor& door_;
  std::string core_;
  std::string batch_;
  std::vector<std::string> told_;
};

TEST(SameAnswers, TheFakeServerAnswersLikeARealOne) {
  FakeServer server(1);
  server.act("POST", "/api/v1/namespaces", {{"metadata", {{"name", "same"}}}});
  const auto door = server.open();
  EXPECT_EQ(Story(*door, "same").tell(), kAnswers);
}

TEST(SameAnswers, ARealServerStillAnswersSo) {
  if (std::getenv(kVariable) == nullptr) GTEST_SKIP() << kVariable << " is not set";
  auto target = find_kube_target("", variable);
  ASSERT_TRUE(target.has_value()) << target.error().message;
  const auto door = CurlDoor::open(std::move(*target));
  ASSERT_TRUE(door.has_value()) << door.error().message;
  const std::string name = fmt::format("fairlead-same-{:x}", (*door)->random());
  const auto call = [&](const KubeRequest& request) {
    const CallId id = (*door)->call(request);
    KubeEvent event;
    while (event.call != id) event = (*door)->wait((*door)->now() + seconds(60));
    return event.status;
  };
  const std::string path = "/api/v1/namespaces/" + name;
  ASSERT_EQ(call({"POST", "/api/v1/namespaces", compact_text({{"metadata", {{"name", name}}}})}),
            201);
  // Without its service account a namespace accepts no pods.
  for (const Time end = (*door)->now() + seconds(20); (*door)->now() < end;) {
    if (call({"GET", path + "/serviceaccounts/default"}) == 200) break;
    (*door)->wait((*door)->now() + milliseconds(50));
  }
  const std::string told = Story(**door, name).tell();
  call({"DELETE", "/api/v1/namespaces/" + name});
  EXPECT_EQ(told, kAnswers);
}

}  // namespace
}  // namespace fairlead
