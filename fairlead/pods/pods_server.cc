#include "fairlead/pods/pods_server.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/kube/counted_door.h"
#include "fairlead/kube/failure.h"
#include "fairlead/live/live_engine.h"
#include "fairlead/pods/outlook.h"
#include "fairlead/pods/pods_world.h"
#include "fairlead/pods/saved_state.h"
#include "fairlead/pods/state_map.h"
#include "fairlead/pods/wait_teller.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace fairlead {
namespace {

// After a longer absence, missed turns are not made up for.
constexpr Duration kSyncLimit = seconds(60);
// Longest time from a failed start to the next.
constexpr Duration kRetryMax = seconds(300);

// Measures how long decisions take.
class TimedWorld : public Backend {
 public:
  TimedWorld(PodsWorld& world, Outlook& outlook, const std::function<double()>& stopwatch)
      : world_(world), outlook_(outlook), stopwatch_(stopwatch) {}

  Batch wait(Time until, bool awaited) override {
    decided();
    const Batch batch = world_.wait(until, awaited);
    if (!batch.events.empty() && stopwatch_) begun_ = stopwatch_();
    return batch;
  }
  std::span<const SpeedChange> expect(Time now, std::span<Step> steps) override {
    decided();
    return world_.expect(now, steps);
  }
  void carry_out(Time now, std::span<const Step> steps) override { world_.carry_out(now, steps); }
  bool reports_steps() const override { return world_.reports_steps(); }
  const TaskLimits* task_limits() const override { return world_.task_limits(); }

 private:
  void decided() {
    if (!begun_) return;
    outlook_.on_decision(stopwatch_() - *begun_);
    begun_.reset();
  }

  PodsWorld& world_;
  Outlook& outlook_;
  const std::function<double()>& stopwatch_;
  std::optional<double> begun_;
};

class PodsServer : public RecordSink {
 public:
  PodsServer(KubeDoor& door, const PodsServeOptions& options,
             const std::function<void(const std::string&)>& say)
      : door_(door, [this](const KubeEvent& event) { say_what_is_forbidden(event); }),
        options_(options),
        say_(say),
        lease_(door_, {.name_space = options.world.name_space, .identity = options.identity}),
        state_(door_, options.world.name_space),
        outlook_(door_, lease_, options.identity, options.policy),
        live_(options.policy, engine_options(options.seed)) {
    if (options_.http != nullptr) {
      options_.http->set_answer(
          [this](const HttpMessage& request) { return outlook_.answer(request); });
    }
  }

  Status run() {
    FL_TRY(live_.make_policy());
    label_ = {.policy = std::string(live_.policy().name()),
              .options = live_.policy_options(),
              .cluster = options_.world.levels.text()};
    if (!leads()) return {};
    if (!reads_state()) return leave();
    for (bool is_first = true;; is_first = false) {
      FL_TRY_ASSIGN(goes_on, run_world(is_first));
      if (!goes_on) break;
      say_("rebuilding state: the nodes, or the jobs' node requirements, changed");
    }
    if (!lease_.is_leader(door_.now())) return run_error("{} leads now", lease_.holder());
    if (live_.has_engine()) save();
    return leave();
  }

  // Schedules until its world ends. Returns true if another world must follow.
  Result<bool> run_world(bool is_first) {
    forget_world();
    world_.emplace(door_, options_.world, &lease_);
    world_->add(state_);
    if (options_.http != nullptr) world_->add(*options_.http);
    world_->tell_bound([this](Duration after) { outlook_.on_bound(after); });
    timed_.emplace(*world_, outlook_, options_.stopwatch);
    FL_TRY(world_->sync(door_.now() + kSyncLimit));
    if (!world_->has_gpus()) say_("there are no nodes with GPUs; waiting");
    world_->await_gpus();
    if (!world_->has_gpus()) return false;
    FL_TRY_ASSIGN(cluster, world_->make_cluster());
    FL_TRY(begin(cluster, is_first));
    say_(fmt::format("leads {} GPUs on {} nodes under {}; {} jobs run", cluster.gpus,
                     cluster.nodes(), options_.policy, tables().running.members().size()));
    teller_.emplace(door_, *world_, tables(), outlook_);
    world_->add(*teller_);
    for (bool goes_on = true; goes_on;) {
      FL_TRY_ASSIGN(more, live_.engine().step());
      goes_on = more;
      if (state_.is_due() && lease_.is_leader(door_.now())) save();
    }
    return world_->is_outgrown() && lease_.is_leader(door_.now());
  }

  void on(const Record& record) override {
    world_->on(record);
    outlook_.on(record);
    state_.touch();
    const auto name = [&](JobId job) { return std::string_view(tables().names[job]); };
    std::visit(Overloaded{
                   [&](const record::Place& what) {
                     say_(fmt::format("{} is placed on {}", name(what.job), gang_text(what.gang)));
                   },
                   [&](const record::Stop& what) { say_(fmt::format("{} stops", name(what.job))); },
                   [&](const record::Finished& what) {
                     say_(fmt::format("{} is finished", name(what.job)));
                   },
                   [&](const OneOf<record::Failed, record::StartFailed> auto& what) {
                     say_(fmt::format("{} failed: {}", name(what.job), what.reason));
                   },
                   [&](const record::Evicted& what) {
                     say_(fmt::format("{} lost its GPUs", name(what.job)));
                   },
                   [](const auto&) {},
               },
               record.what);
  }

 private:
  const Tables& tables() const { return live_.engine().tables(); }

  static EngineOptions engine_options(std::uint64_t seed) {
    EngineOptions engine = live_engine_options(seed);
    engine.starts_max = std::numeric_limits<std::uint32_t>::max();  // only its user ends a Job
    engine.retry_max = kRetryMax;
    return engine;
  }

  // Returns the speeds that the next engine must know.
  LearnedSpeeds learned() {
    return learned_.with(live_.engine(), world_->speeds().references(), world_->now(),
                         door_.unix_ms());
  }
  void teach() {
    world_->speeds().set_references(learned_.references);
    learned_.teach(live_.engine(), world_->now(), door_.unix_ms());
  }

  // Destroys the world, after everything that refers to it.
  void forget_world() {
    if (live_.has_engine()) learned_ = learned();
    outlook_.follow();
    teller_.reset();
    live_.destroy_engine();
    timed_.reset();
    world_.reset();
  }

  // Logs each missing permission once: the server's message from the user on, without the object.
  void say_what_is_forbidden(const KubeEvent& event) {
    const std::string text = failure_text(event);
    const std::size_t user = text.find("User ");
    const std::string right = text.substr(user == text.npos ? 0 : user);
    if (forbidden_.insert(right).second) say_(fmt::format("missing RBAC permission: {}", right));
  }

  // Continues from the saved state of the scheduler before, or starts with the gangs that run.
  Status begin(const Cluster& cluster, bool is_first) {
    const Status goes_on = is_first ? go_on(cluster) : run_error("the cluster changed");
    if (!goes_on) {
      say_(fmt::format("the policy starts without saved state: {}", goes_on.error().message));
      const RecordedRun found = world_->found(cluster, learned_.users());
      FL_TRY(live_.recover(cluster, found, *world_, *this, PolicyRecovery::kRestarted));
      live_.engine().replace_world(*timed_, *this, world_->now());
      world_->attach(tables());
      outlook_.lead(*world_, live_, found);
    }
    teach();
    return {};
  }

  // Continues from the saved state. Error: why it cannot; its speeds are known all the same.
  Status go_on(const Cluster& cluster) {
    if (state_.found().empty()) {
      return run_error(
          "{}", state_.trouble().empty() ? "no earlier scheduler left any" : state_.trouble());
    }
    FL_TRY_ASSIGN(state, parse_state(state_.found()));
    learned_ = std::move(state.learned);
    FL_TRY(fits(state, label_, cluster));
    world_->set_now(state.time_at(door_.unix_ms()));
    FL_TRY_ASSIGN(recovery, live_.recover(cluster, state.run, *world_, *this));
    if (recovery.policy == PolicyRecovery::kRestarted) return run_error("{}", recovery.why);
    live_.engine().replace_world(*timed_, *this, world_->now());
    world_->adopt(tables(), state.owners);
    outlook_.lead(*world_, live_, state.run);
    return {};
  }

  void save() {
    const std::size_t here = tables().waiting.members().size() + tables().running.members().size();
    std::string bytes = save_state(live_.engine(), label_, world_->observed().gangs().keys(),
                                   learned(), world_->now(), door_.unix_ms());
    if (bytes.empty()) return;
    state_.write(std::move(bytes), fmt::format("{}, {} jobs, as of {}", options_.policy, here,
                                               timestamp(door_.unix_ms())));
    if (!state_.trouble().empty() && std::exchange(trouble_, state_.trouble()) != trouble_) {
      say_(trouble_);
    }
  }

  // Handles an event while there is no world.
  void handle(const KubeEvent& event) {
    if (options_.http != nullptr && options_.http->handle(event)) return;
    if (!lease_.handle(event)) state_.handle(event);
  }

  // Sends pending writes for at most 2 s, then releases the Lease, so that another process may lead at once.
  Status leave() {
    const Time until = door_.now() + seconds(2);
    while (!state_.is_written() && door_.now() < until) {
      state_.wake();
      handle(door_.wait(until));
    }
    lease_.release();
    (void)door_.wait(door_.now() + seconds(1));
    return {};
  }

  // Reads the saved state of the leader before. Returns false if the program was asked to leave.
  bool reads_state() {
    while (!state_.is_read()) {
      state_.read();
      lease_.wake();
      const KubeEvent event = door_.wait(std::min(lease_.wake_at(), door_.now() + seconds(1)));
      if (event.kind == KubeEvent::Kind::kTerminate) return false;
      handle(event);
    }
    return true;
  }

  // Waits until this process leads. Returns false if the program was asked to leave before.
  bool leads() {
    bool has_said = false;
    while (!lease_.is_leader(door_.now())) {
      lease_.wake();
      const KubeEvent event = door_.wait(lease_.wake_at());
      if (event.kind == KubeEvent::Kind::kTerminate) return false;
      handle(event);
      const bool waits = !lease_.holder().empty() && lease_.holder() != options_.identity;
      if (waits && !std::exchange(has_said, true)) {
        say_(fmt::format("{} leads; waiting", lease_.holder()));
      }
    }
    return true;
  }

  std::string gang_text(Gang gang) const {
    std::string text;
    for (Slice slice : gang) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ",
                          tables().cluster.node_names[slice.node], slice.gpus);
    }
    return text;
  }

  CountedDoor door_;
  const PodsServeOptions& options_;
  const std::function<void(const std::string&)>& say_;
  Lease lease_;
  std::set<std::string> forbidden_;  // missing permissions that were logged
  StateMap state_;
  LearnedSpeeds
      learned_;  // those that the present engine was not taught; all of them between two engines
  std::string trouble_;  // last logged trouble of `state_`
  RunLabel label_;
  Outlook outlook_;
  std::optional<PodsWorld> world_;
  std::optional<TimedWorld> timed_;
  std::optional<WaitTeller> teller_;
  LiveEngine live_;
};

}  // namespace

Status serve_pods(KubeDoor& door, const PodsServeOptions& options,
                  const std::function<void(const std::string&)>& say) {
  return PodsServer(door, options, say).run();
}

}  // namespace fairlead
