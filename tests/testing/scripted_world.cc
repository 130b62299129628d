#include "testing/scripted_world.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/model/cluster_build.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

constexpr int kStepsMax = 10'000;

std::string text(JobId job, RunId run) { return fmt::format("j{}#{}", job.row(), run); }

std::string text(NodeId node, std::uint64_t gpus) {
  return gpus == kAllGpus ? fmt::format("n{}", node.row())
                          : fmt::format("n{}:{:x}", node.row(), gpus);
}

std::string because(std::string_view reason) {
  return reason.empty() ? "" : fmt::format(": {}", reason);
}

std::string text(const record::Place& place) {
  std::string text = fmt::format("place j{}", place.job.row());
  for (std::size_t i = 0; i < place.gang.size(); ++i) {
    text += fmt::format(" n{}:{:x}", place.gang[i].node.row(), place.gpu_masks[i]);
  }
  return text;
}

std::string text(const record::Ignored& ignored) {
  const std::string about =
      ignored.job.is_none() ? text(ignored.node, kAllGpus) : text(ignored.job, ignored.run);
  return fmt::format("ignored: {} {}", event_name(ignored.event), about);
}

// Returns an empty text for records without information about the world.
std::string text_of(const Record& record) {
  const auto job = [](std::string_view what, JobId of) {
    return fmt::format("{} j{}", what, of.row());
  };
  return std::visit(
      Overloaded{
          [](const record::Group& group) { return fmt::format("group {}", group.name); },
          [](const record::User& user) { return fmt::format("user {}", user.name); },
          [](const record::Node& node) { return fmt::format("node {}", node.name); },
          [&](const record::Arrived& arrived) { return job("arrived", arrived.asked.job); },
          [&](const record::Rejected& rejected) {
            return job("rejected", rejected.asked.job) + because(rejected.reason);
          },
          [&](const record::Finished& finished) { return job("finished", finished.job); },
          [&](const record::Failed& failed) {
            return job("failed", failed.job) + because(failed.reason);
          },
          [&](const record::Cancelled& cancelled) { return job("cancelled", cancelled.job); },
          [&](const record::Evicted& evicted) { return job("evicted", evicted.job); },
          [&](const record::Held& held) { return job("held", held.job); },
          [&](const record::Released& released) { return job("released", released.job); },
          [&](const record::Started& started) { return job("started", started.job); },
          [&](const record::StartFailed& failed) {
            return job("start failed", failed.job) +
                   fmt::format(", retry at {}s", to_seconds(failed.retry));
          },
          [&](const record::Stop& stop) {
            return job("stop", stop.job) + fmt::format(": {}", stop_cause_name(stop.cause));
          },
          [](const record::Stopped& stopped) {
            return "stopped " + text(stopped.job, stopped.run);
          },
          [](const record::StopFailed& failed) {
            return "stop failed " + text(failed.job, failed.run) + because(failed.reason);
          },
          [](const record::Place& place) { return text(place); },
          [](const record::Speed& speed) {
            return fmt::format("j{} at {}", speed.job.row(), speed.rate.value());
          },
          [](const record::GpusDown& down) { return "down " + text(down.node, down.gpus); },
          [](const record::GpusUp& up) { return "up " + text(up.node, up.gpus); },
          [](const record::Cordoned& cordoned) {
            return "cordoned " + text(cordoned.node, kAllGpus) + because(cordoned.reason);
          },
          [](const record::Closed& closed) { return "closed " + text(closed.node, closed.gpus); },
          [](const record::Uncordoned& what) { return "uncordoned " + text(what.node, kAllGpus); },
          [](const record::Tickets& tickets) {
            return fmt::format("u{} has {} tickets", tickets.user.row(), tickets.tickets);
          },
          [](const record::Ignored& ignored) { return text(ignored); },
          [](const record::Skipped&) { return std::string("skipped"); },
          [](const auto&) { return std::string(); },
      },
      record.what);
}

}  // namespace

Event job_event(EventKind kind, std::size_t job, RunId run) {
  return {.kind = kind, .job = JobId(job), .run = run};
}

Event node_event(EventKind kind, std::size_t node, std::uint64_t gpus) {
  return {.kind = kind, .node = NodeId(node), .gpus = gpus};
}

void ScriptedWorld::arrive(std::int64_t s, std::uint32_t gpus, UserId user) {
  const JobId job(jobs_++);
  at(s).jobs.push_back(
      {.job = job, .user = user, .gpus = gpus, .gpus_min = gpus, .gpus_max = gpus});
  tell(s, {.kind = EventKind::kArrived, .job = job});
}

void ScriptedWorld::run() {
  FL_CHECK(!engine_);
  const NodeSpec node{.name = "", .gpu_type = "V100", .gpus = 4, .host = "", .rack = ""};
  Users users;
  users.names.push_back("ann");
  users.tickets.push_back(1);
  engine_.emplace(*build_cluster("test", {}, {node, node}), &speed_, policy_, backend_, log_,
                  options);
  engine_->begin({}, users);
  lines_.clear();  // the users and nodes that are there from the beginning
  for (int steps = 0; steps < kStepsMax; ++steps) {
    const Result<bool> goes_on = engine_->step();
    FL_CHECK(goes_on.has_value(), "{}", goes_on.error().message);
    if (!*goes_on) return;
  }
  FL_CHECK(false, "the script never ends");
}

Lines ScriptedWorld::lines_at(std::int64_t s) const {
  const std::string prefix = fmt::format("{}s ", s);
  Lines found;
  for (const std::string& line : lines_) {
    if (line.starts_with(prefix)) found.push_back(line.substr(prefix.size()));
  }
  return found;
}

Lines ScriptedWorld::lines_with(std::string_view text) const {
  Lines found;
  for (const std::string& line : lines_) {
    if (line.find(text) != std::string::npos) found.push_back(line);
  }
  return found;
}

void ScriptedWorld::write(Time t, const std::string& line) {
  if (!line.empty()) lines_.push_back(fmt::format("{}s {}", to_seconds(t), line));
}

void ScriptedWorld::Log::on(const Record& record) { world.write(record.t, text_of(record)); }

Batch ScriptedWorld::Script::wait(Time until, bool /*awaited*/) {
  if (script.empty() || script.begin()->first > until) {
    return {.now = until, .ended = until == Time::never()};
  }
  const Time at = script.begin()->first;
  current = std::move(script.begin()->second);
  script.erase(script.begin());
  return {.now = current.now.value_or(at),
          .present = current.present,
          .groups = current.groups,
          .users = current.users,
          .nodes = current.nodes,
          .jobs = current.jobs,
          .events = current.events};
}

std::span<const SpeedChange> ScriptedWorld::Script::expect(Time /*now*/, std::span<Step> steps) {
  for (Step& step : steps) step.rate = step.locality = Rate::one();
  return {};
}

void ScriptedWorld::Script::carry_out(Time now, std::span<const Step> steps) {
  for (const Step& step : steps) {
    const bool is_stop = step.kind == Step::Kind::kStop;
    world.write(now, fmt::format("-> {} {}", is_stop ? "stop" : "place", text(step.job, step.run)));
    if (world.on_step) world.on_step(now, step);
  }
}

void ScriptedWorld::Fifo::decide(const View& view, Plan& plan) {
  decisions.push_back(view.now);
  for (const Event& event : view.news) {
    if (begins_to_wait(event.kind)) queue.push_back(event.job);
    if (ends_job(event.kind)) std::erase(queue, event.job);
  }
  while (!queue.empty() && plan.free().total() >= view.jobs.gpus[queue.front()]) {
    std::uint32_t missing = view.jobs.gpus[queue.front()];
    for (NodeId node : ids<NodeId>(view.cluster.nodes())) {
      const std::uint32_t part = std::min(missing, plan.free().on(node));
      if (part > 0) plan.take(node, part);
      missing -= part;
    }
    plan.place(queue.front());
    queue.erase(queue.begin());
  }
  if (world.also_decide) world.also_decide(view, plan);
}

}  // namespace fairlead
