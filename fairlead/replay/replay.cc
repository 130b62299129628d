#include "fairlead/replay/replay.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/journal/checked_journal.h"
#include "fairlead/policy/registry.h"
#include "fairlead/report/result_files.h"
#include "fairlead/run/simulation.h"
#include "fairlead/trace/trace.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

// A recorded run, and everything needed to run another policy in its world.
struct Recording {
  std::filesystem::path journal;
  RecordedWorld world;
  std::vector<std::uint64_t> decisions;  // digests
  Settings settings;
};

bool same_nodes(const Cluster& a, const Cluster& b) {
  return a.node_names == b.node_names && a.node_type == b.node_type &&
         a.type_names == b.type_names && a.node_gpus == b.node_gpus && a.node_host == b.node_host &&
         a.node_rack == b.node_rack;
}

Status take_cluster(RecordedWorld& world, const std::string& spec) {
  FL_TRY_ASSIGN(cluster, load_cluster(spec));
  if (!same_nodes(cluster, world.cluster)) {
    return input_error("--cluster has other nodes than the recorded run: {}", spec);
  }
  world.cluster = std::move(cluster);
  return {};
}

Status take_reference_types(Workload& workload, const ReplayRequest& request,
                            const Settings& settings) {
  const std::string& trace = request.trace;
  FL_TRY_ASSIGN(options, read_options(request.read));
  FL_TRY_ASSIGN(steps_per_second, steps_per_second_of(settings.models));
  options.reading = settings.reading;
  options.tasks = settings.tasks;
  options.steps_per_second = std::move(steps_per_second);
  FL_TRY_ASSIGN(read, read_trace(trace, options));
  bool same = read.names.size() == workload.names.size();
  for (JobId job : ids<JobId>(same ? read.names.size() : 0)) {
    same = same && workload.names[job] == read.names[job];
  }
  if (!same) return input_error("--trace has other jobs than the recorded run: {}", trace);
  workload.reference_types = std::move(read.reference_types);
  workload.runs_on = std::move(read.runs_on);
  workload.levels = std::move(read.levels);
  workload.asks = std::move(read.asks);
  workload.qos = std::move(read.qos);
  workload.accounts = std::move(read.accounts);
  return {};
}

// Returns the settings of the recorded run, overridden by the given ones.
Result<Settings> settings_of(const ReplayRequest& request, const nlohmann::json& summary) {
  std::vector<std::string> assignments;
  const auto given = summary.find("settings");
  if (given != summary.end() && given->is_object()) {
    for (const auto& [key, value] : given->items()) {
      if (value.is_string()) assignments.push_back(key + "=" + value.get<std::string>());
    }
  }
  assignments.insert(assignments.end(), request.settings.begin(), request.settings.end());
  return parse_settings(assignments);
}

Result<Recording> read_recorded(const ReplayRequest& request) {
  Recording recording;
  recording.journal = request.recorded;
  std::error_code ignored;
  if (std::filesystem::is_directory(recording.journal, ignored)) recording.journal /= kJournalName;
  FL_TRY_ASSIGN(summary, summary_beside(recording.journal));
  FL_TRY_ASSIGN(settings, settings_of(request, summary));
  if (!settings.limits.empty() && request.trace.empty())
    return input_error(
        "--trace is missing: limits are about QOS and accounts, which the journal does not have");
  WorldRecorder world;
  DecisionReader decisions(
      [&](const Decision& decision) { recording.decisions.push_back(decision.digest()); });
  Tee tee({&world, &decisions});
  FL_TRY_ASSIGN(end, read_checked_journal(recording.journal, tee));
  FL_TRY(check_journal_of(summary, recording.journal, end));
  Result<RecordedWorld> recorded = world.world();
  if (!recorded) {
    return input_error("{}: {}", recording.journal.string(), recorded.error().message);
  }
  recording.world = std::move(*recorded);
  if (!request.cluster.empty()) FL_TRY(take_cluster(recording.world, request.cluster));
  if (!request.trace.empty()) {
    FL_TRY(take_reference_types(recording.world.workload, request, settings));
  }
  settings.load = 0;  // the recorded arrivals are scaled already
  // Nodes fail and recover only as recorded.
  settings.faults.mtbf_h = 0;
  settings.faults.rack_mtbf_h = 0;
  settings.faults.outages = recording.world.outages;
  settings.outages.clear();
  settings.unreliable = {};
  recording.settings = std::move(settings);
  return recording;
}

// Runs the policy until it decides differently or has made `enough` decisions as recorded.
Result<DecisionMatch> match_with(const Recording& recording, std::string_view policy,
                                 std::size_t enough) {
  SimulationInputs inputs{.cluster = recording.world.cluster,
                          .trace = Trace(recording.world.workload),
                          .settings = recording.settings,
                          .seed = recording.world.seed,
                          .until = recording.world.until,
                          .measured = false};
  FL_TRY(inputs.use_policy(policy));
  FL_TRY_ASSIGN(simulation, Simulation::make(std::move(inputs)));
  DecisionMatcher matcher(recording.decisions);
  simulation.add_sink(matcher);
  while (!matcher.match().other && matcher.match().agreed < enough) {
    FL_TRY_ASSIGN(goes_on, simulation.step());
    if (!goes_on) break;
  }
  return matcher.match();
}

// Returns the recorded decision with that number, or none if there are fewer decisions.
Result<std::optional<Decision>> recorded_decision(const Recording& recording, std::size_t number) {
  std::optional<Decision> found;
  std::size_t next = 0;
  DecisionReader reader([&](const Decision& decision) {
    if (next++ == number) found = decision;
  });
  FL_TRY(read_finished_journal(recording.journal, reader));
  return found;
}

// Checks the rebuilt world. Error: the recorded policy does not repeat its first `enough` decisions in it.
Status check_rebuilt(const Recording& recording, std::size_t enough) {
  FL_TRY_ASSIGN(again, match_with(recording, recording.world.policy, enough));
  if (again.agreed >= enough) return {};
  FL_TRY_ASSIGN(was, recorded_decision(recording, again.agreed));
  const Time t = again.other ? std::min(was->t, again.other->t) : was->t;
  return input_error(
      "{}: this run cannot be rebuilt with these settings: its own policy does otherwise at {} s. "
      "Give its --set; about --cluster and --trace see fairlead replay --help: {}",
      recording.journal.string(), to_seconds(t), recording.world.policy);
}

}  // namespace

Result<ReplayResult> replay(const ReplayRequest& request) {
  FL_TRY_ASSIGN(recording, read_recorded(request));
  const std::size_t recorded = recording.decisions.size();
  // Asks for one more than recorded, to show that there is no other decision.
  FL_TRY_ASSIGN(match, match_with(recording, request.policy, recorded + 1));
  ReplayResult result{.world = {},
                      .policy = request.policy,
                      .agreed = match.agreed,
                      .recorded = {},
                      .replayed = match.other};
  if (match.other || match.agreed < recorded) {
    FL_TRY(check_rebuilt(recording, std::min(match.agreed + 1, recorded)));
    FL_TRY_ASSIGN(was, recorded_decision(recording, match.agreed));
    result.recorded = std::move(was);
  }
  result.world = std::move(recording.world);
  return result;
}

}  // namespace fairlead
