#include "fairlead/cli/replay_text.h"

#include "fairlead/base/printable.h"
#include "fairlead/report/json.h"
#include "fairlead/report/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

using nlohmann::json;
using Steps = std::vector<Decision::Step>;

std::string_view event_name(Decision::Event::Kind kind) {
  using Kind = Decision::Event::Kind;
  switch (kind) {
    case Kind::kArrived:
      return "arrived";
    case Kind::kRejected:
      return "rejected";
    case Kind::kFinished:
      return "finished";
    case Kind::kFailed:
      return "failed";
    case Kind::kCancelled:
      return "cancelled";
    case Kind::kEvicted:
      return "evicted";
    case Kind::kNodeDown:
      return "went down";
    case Kind::kNodeUp:
      return "came up";
  }
  return {};
}

// The steps of both policies at the time of the difference. The one that decided later had none then.
struct Difference {
  Time t;
  std::vector<Decision::Event> events;
  Steps recorded;  // not among the replayed
  Steps replayed;  // not among the recorded
  std::size_t same = 0;
};

// Returns the elements of `steps` that are not in `other`.
Steps only_in(const Steps& steps, const Steps& other) {
  Steps only;
  for (const Decision::Step& step : steps) {
    if (std::ranges::find(other, step) == other.end()) only.push_back(step);
  }
  return only;
}

std::optional<Difference> difference_of(const ReplayResult& result) {
  if (!result.recorded && !result.replayed) return std::nullopt;
  const auto time = [](const auto& decision) { return decision ? decision->t : Time::never(); };
  Difference difference;
  difference.t = std::min(time(result.recorded), time(result.replayed));
  const auto then = [&](const auto& decision) {
    return decision && decision->t == difference.t ? *decision : Decision{};
  };
  const Decision recorded = then(result.recorded);
  const Decision replayed = then(result.replayed);
  difference.events = recorded.events.empty() ? replayed.events : recorded.events;
  difference.recorded = only_in(recorded.steps, replayed.steps);
  difference.replayed = only_in(replayed.steps, recorded.steps);
  difference.same = recorded.steps.size() - difference.recorded.size();
  return difference;
}

std::string job_text(const RecordedWorld& world, JobId job) {
  const Workload& workload = world.workload;
  return fmt::format(
      "{} ({}, {})", workload.names[job], workload.users.names[workload.jobs.user[job]],
      workload.jobs.gpus[job] == 1 ? "1 GPU" : fmt::format("{} GPUs", workload.jobs.gpus[job]));
}

std::string event_text(const RecordedWorld& world, const Decision::Event& event) {
  const std::string what =
      event.job.is_none() ? world.cluster.node_names[event.node] : job_text(world, event.job);
  return fmt::format("{} {}", what, event_name(event.kind));
}

std::string step_text(const RecordedWorld& world, const Decision::Step& step) {
  if (step.stop) return "stops " + job_text(world, step.job);
  std::string gang;
  for (const Slice slice : step.gang) {
    gang += fmt::format("{}{} x{}", gang.empty() ? "" : ", ", world.cluster.node_names[slice.node],
                        slice.gpus);
  }
  const std::string copy = step.copy == 0 ? "" : fmt::format(" (copy {})", step.copy);
  return fmt::format("places {}{} on {}", job_text(world, step.job), copy, gang);
}

template <class Items, class Text>
std::string lines_of(const Items& items, std::string_view indent, Text text) {
  constexpr std::size_t kShown = 20;
  std::string lines;
  for (std::size_t i = 0; i < std::min(items.size(), kShown); ++i) {
    lines += fmt::format("{}{}\n", indent, printable(text(items[i])));
  }
  if (items.size() > kShown) {
    lines += fmt::format("{}... and {} more\n", indent, items.size() - kShown);
  }
  return lines;
}

json step_json(const RecordedWorld& world, const Decision::Step& step) {
  const Workload& workload = world.workload;
  json value = {{"step", step.stop ? "stop" : "place"},
                {"job", workload.names[step.job]},
                {"user", workload.users.names[workload.jobs.user[step.job]]},
                {"gpus", workload.jobs.gpus[step.job]}};
  if (step.stop) return value;
  value["copy"] = step.copy;
  value["gang"] = json::array();
  for (const Slice slice : step.gang) {
    value["gang"].push_back({{"node", world.cluster.node_names[slice.node]}, {"gpus", slice.gpus}});
  }
  return value;
}

json steps_json(const RecordedWorld& world, const Steps& steps) {
  json list = json::array();
  for (const Decision::Step& step : steps) list.push_back(step_json(world, step));
  return list;
}

json event_json(const RecordedWorld& world, const Decision::Event& event) {
  std::string kind(event_name(event.kind));
  std::ranges::replace(kind, ' ', '_');
  if (event.job.is_none()) {
    return {{"event", kind}, {"node", world.cluster.node_names[event.node]}};
  }
  return {{"event", kind}, {"job", world.workload.names[event.job]}};
}

}  // namespace

std::string replay_text(const ReplayResult& result) {
  const RecordedWorld& world = result.world;
  const std::string agreed = count_text(static_cast<std::int64_t>(result.agreed));
  std::string text = fmt::format("recorded  {}\nreplayed  {}\n", world.policy, result.policy);
  const auto difference = difference_of(result);
  if (!difference) return text + fmt::format("no difference in {} decisions\n", agreed);

  text +=
      fmt::format("they differ first at {} s, after {} equal decision{}\n",
                  number_text(to_seconds(difference->t), 3), agreed, result.agreed == 1 ? "" : "s");
  const auto event = [&](const auto& item) { return event_text(world, item); };
  const auto step = [&](const auto& item) { return step_text(world, item); };
  text += "\nwhat happened\n";
  text += difference->events.empty() ? "  nothing: a policy decides at its own times\n"
                                     : lines_of(difference->events, "  ", event);
  const auto steps = [&](const Steps& list) {
    return list.empty() ? std::string("  nothing\n") : lines_of(list, "  ", step);
  };
  text += "\nwhat only the recorded policy does\n" + steps(difference->recorded);
  text += "\nwhat only the replayed policy does\n" + steps(difference->replayed);
  if (difference->same > 0) text += fmt::format("\n{} steps are the same\n", difference->same);
  return text;
}

std::string replay_json(const ReplayResult& result) {
  const RecordedWorld& world = result.world;
  json value = {{"recorded", world.policy},
                {"replayed", result.policy},
                {"decisions_equal", result.agreed},
                {"difference", nullptr}};
  if (const auto difference = difference_of(result)) {
    json events = json::array();
    for (const Decision::Event& event : difference->events) {
      events.push_back(event_json(world, event));
    }
    value["difference"] = {{"t_s", to_seconds(difference->t)},
                           {"events", events},
                           {"recorded_only", steps_json(world, difference->recorded)},
                           {"replayed_only", steps_json(world, difference->replayed)},
                           {"steps_equal", difference->same}};
  }
  return json_text(value);
}

}  // namespace fairlead
