// An engine over a fake cluster, for tests.
#pragma once

#include "fairlead/engine/engine.h"
#include "fairlead/kube/lease.h"
#include "fairlead/kube/testing_faults.h"
#include "fairlead/model/profile_options.h"
#include "fairlead/pods/learned_speeds.h"
#include "fairlead/pods/pods_world.h"
#include "fairlead/policy/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

// Counts the bindings that are on their way at once.
class CountingDoor : public KubeDoor {
 public:
  explicit CountingDoor(KubeDoor& door) : door_(door) {}
  Time now() override { return door_.now(); }
  std::int64_t unix_ms() override { return door_.unix_ms(); }
  std::uint64_t random() override { return door_.random(); }
  CallId call(KubeRequest request) override {
    const bool is_binding = request.path.ends_with("/binding");
    const CallId id = door_.call(std::move(request));
    if (is_binding) open_.insert(id);
    most_ = std::max(most_, open_.size());
    return id;
  }
  CallId stream(KubeRequest request) override { return door_.stream(std::move(request)); }
  void drop(CallId call) override { door_.drop(call); }
  KubeEvent wait(Time until) override {
    KubeEvent event = door_.wait(until);
    if (event.kind == KubeEvent::Kind::kAnswer) open_.erase(event.call);
    return event;
  }
  std::size_t most() const { return most_; }

 private:
  KubeDoor& door_;
  std::set<CallId> open_;
  std::size_t most_ = 0;
};

// The engine with a policy over a fake cluster, and its journal.
class Scheduler : public RecordSink {
 public:
  // With a name it leads by the Lease of namespace `fairlead`; else it takes no Lease.
  Scheduler(FakeServer& server, const std::string& policy, const std::string& name = "",
            PodsOptions pods = {})
      : inner_(server.open()),
        lease_(name.empty() ? nullptr : lead(*door_, name)),
        world_(*door_, std::move(pods), lease_.get()) {
    if (!world_.sync(door_->now() + seconds(120))) return;
    policy_ = *parse_policy(policy, 0)->make();
    EngineOptions options{.slack = seconds(10)};
    options.profiles.source = SpeedSource::kMeasured;
    options.work.source = WorkSource::kReported;
    const Cluster cluster = *world_.make_cluster();
    engine_ = std::make_unique<Engine>(cluster, nullptr, *policy_, world_, *this, options);
    EXPECT_TRUE(recover(*engine_, world_.found(cluster), "", *policy_, world_, false, false));
    engine_->replace_world(world_, *this, door_->now());
    world_.attach(engine_->tables());
  }

  // Returns false once it has ended, because it no longer leads or never synced.
  bool step() { return engine_ != nullptr && engine_->step().value_or(false); }
  void run_until(Time t) {
    while (door_->now() < t) {
      // The world waits no longer than a minute, so this ends.
      ASSERT_TRUE(step());
    }
  }
  void run_for(Duration d) { run_until(door_->now() + d); }

  void on(const Record& record) override {
    world_.on(record);
    places_ += std::holds_alternative<record::Place>(record.what) ? 1 : 0;
    if (const auto* failed = std::get_if<record::StartFailed>(&record.what)) {
      failures_.emplace_back(failed->reason);
    }
    if (const auto* reported = std::get_if<record::Reported>(&record.what))
      reported_left_ = reported->left;
  }

  // Finds a job by its name, NAMESPACE/JOB.
  std::optional<JobId> job(const std::string& name) const {
    for (JobId job : ids<JobId>(tables().jobs.size())) {
      if (tables().jobs.has(job) && tables().names[job] == name) return job;
    }
    return std::nullopt;
  }
  JobState state(const std::string& name) const {
    const auto found = job(name);
    return found ? tables().jobs.state[*found] : JobState::kUnsubmitted;
  }
  double attained_gpu_s(const std::string& name) const {
    const auto found = job(name);
    if (!found) return 0;
    return static_cast<double>(tables().jobs.attained(*found, tables().now).gpu_ms) / 1000;
  }
  const Tables& tables() const { return engine_->tables(); }
  const PodsWorld& world() const { return world_; }
  std::vector<LearnedSpeed> learned() const { return engine_->speeds().learned(); }
  void teach(LearnedSpeeds& speeds, std::int64_t unix_ms) {
    speeds.teach(*engine_, world_.now(), unix_ms);
  }
  // The last report of remaining work.
  std::optional<Duration> reported_left() const { return reported_left_; }
  // The number of placed gangs, the reasons of failed starts, and the most bindings on their way at once.
  int places() const { return places_; }
  const std::vector<std::string>& failures() const { return failures_; }
  std::size_t most_bindings() const { return door_->most(); }

 private:
  static std::unique_ptr<Lease> lead(KubeDoor& door, const std::string& name) {
    auto lease =
        std::make_unique<Lease>(door, LeaseSettings{.name_space = "fairlead", .identity = name});
    while (!lease->is_leader(door.now())) {
      lease->wake();
      lease->handle(door.wait(lease->wake_at()));
    }
    return lease;
  }

  std::unique_ptr<KubeDoor> inner_;
  std::unique_ptr<CountingDoor> door_ = std::make_unique<CountingDoor>(*inner_);
  std::unique_ptr<Lease> lease_;
  PodsWorld world_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<Engine> engine_;
  int places_ = 0;
  std::optional<Duration> reported_left_;
  std::vector<std::string> failures_;
};

// Runs jobs on a fake cluster to their ends, under schedulers that follow each other. It is a run for
// try_faults() and similar functions. Derived classes add nodes and jobs.
class RunToTheEnd {
 public:
  RunToTheEnd() = default;
  RunToTheEnd(const RunToTheEnd&) = delete;
  RunToTheEnd& operator=(const RunToTheEnd&) = delete;
  virtual ~RunToTheEnd() = default;

  // Returns the problem; empty: there is none. The scheduler is killed after `crash` calls, and another
  // one continues; 0: it is not killed.
  std::string run(std::uint64_t crash = 0) {
    const Time late = server.now() + limit();
    for (int number = 1; server.now() < late; ++number) {
      Scheduler live(server, policy(), leads() ? fmt::format("s{}", number) : "", pods_options());
      while (server.now() < late) {
        if (crash != 0 && server.calls().size() >= crash) break;
        if (!live.step()) {
          if (leads()) break;  // another has the Lease; this one may lead again
          return "the engine stopped";
        }
        if (std::string what = problem(); !what.empty()) return what;
        if (is_done()) return {};
      }
      if (crash == 0 || server.calls().size() < crash) continue;
      crash = 0;
      // A scheduler reads the cluster once the Lease of a killed one is over, later than the last call of that arrives.
      if (!leads()) server.run_until(server.now() + server.delays().call.most);
    }
    return "not all have ended";
  }

  FakeServer server{1};

 protected:
  virtual std::string problem() { return refusal(server); }
  virtual bool is_done() { return all_jobs_done(server); }
  virtual std::string policy() const { return "gang-stride:quantum_s=20"; }
  virtual bool leads() const { return false; }  // by the Lease
  virtual PodsOptions pods_options() const { return {}; }
  virtual Duration limit() const { return seconds(4 * 3600); }
};

}  // namespace fairlead
