// `fairlead replay`: where another policy would first have decided differently.
//
// The world of the recorded run is rebuilt from its journal, and the other policy runs in it. As
// long as its decisions are those of the record, so is everything that happens to it; after the
// first difference the recorded future is no longer its own, so the replay ends there. That the
// world is the same is checked: in it, the recorded policy must do again what it did up to there.

#include "fairlead/cli/commands.h"
#include "fairlead/cli/replay_text.h"
#include "fairlead/cli/run.h"
#include "fairlead/engine/engine.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/journal/checked_journal.h"
#include "fairlead/policy/registry.h"
#include "fairlead/replay/decisions.h"
#include "fairlead/replay/recorded_world.h"
#include "fairlead/report/result_files.h"
#include "fairlead/trace/trace.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

struct Flags {
  std::string recorded;
  std::string policy;
  std::string cluster;
  std::string trace;
  std::vector<std::string> settings;
  bool json = false;
};

constexpr std::string_view kHelp =
    "Examples:\n"
    "  fairlead replay out/fifo --policy fifo:skip=true\n"
    "  fairlead replay out/cmp/tiresias/journal.flj --policy las --set costs=none\n"
    "\n"
    "The journal has the run's cluster, jobs and outages, not its settings: these are taken from\n"
    "the summary.json beside it, and from --set. --cluster is needed where the network is\n"
    "computed, since the journal has no links; --trace where it has a column gpu_type. Whether\n"
    "the run was rebuilt is checked: its own policy must decide as it did. It exits with 0\n"
    "whether there is a difference or not.\n";

// A recorded run, and everything needed to run another policy in its world.
struct Replay {
  std::filesystem::path journal;
  RecordedWorld world;
  std::vector<std::uint64_t> decisions;  // digests
  Settings settings;
  SpeedTable table;
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

Status take_reference_types(Workload& workload, const std::string& trace,
                            const Settings& settings) {
  FL_TRY_ASSIGN(read, read_trace(trace, {.reading = settings.reading}));
  bool same = read.names.size() == workload.names.size();
  for (JobId job : ids<JobId>(same ? read.names.size() : 0)) {
    // Of a job that was never submitted the journal has no name.
    same = same && (workload.names[job].empty() || workload.names[job] == read.names[job]);
  }
  if (!same) return input_error("--trace has other jobs than the recorded run: {}", trace);
  workload.reference_types = std::move(read.reference_types);
  return {};
}

// Those of the recorded run, if its summary is still beside the journal, and then those given.
Result<Settings> settings_of(const Flags& flags, const std::filesystem::path& journal) {
  std::vector<std::string> assignments;
  std::error_code ignored;
  if (std::filesystem::exists(journal.parent_path() / "summary.json", ignored)) {
    FL_TRY_ASSIGN(summary, read_summary(journal.parent_path()));
    const auto given = summary.find("settings");
    if (given != summary.end() && given->is_object()) {
      for (const auto& [key, value] : given->items()) {
        if (value.is_string()) assignments.push_back(key + "=" + value.get<std::string>());
      }
    }
  }
  assignments.insert(assignments.end(), flags.settings.begin(), flags.settings.end());
  return parse_settings(assignments);
}

Result<Replay> read_recorded(const Flags& flags) {
  Replay replay;
  replay.journal = flags.recorded;
  std::error_code ignored;
  if (std::filesystem::is_directory(replay.journal, ignored)) replay.journal /= kJournalName;
  FL_TRY_ASSIGN(settings, settings_of(flags, replay.journal));
  WorldRecorder world;
  DecisionReader decisions(
      [&](const Decision& decision) { replay.decisions.push_back(decision.digest()); });
  Tee tee({&world, &decisions});
  FL_TRY(read_checked_journal(replay.journal, tee));
  FL_TRY_ASSIGN(recorded, world.world());
  replay.world = std::move(recorded);
  if (!flags.cluster.empty()) FL_TRY(take_cluster(replay.world, flags.cluster));
  if (!flags.trace.empty()) {
    FL_TRY(take_reference_types(replay.world.workload, flags.trace, settings));
  }
  FL_TRY_ASSIGN(table, speed_table(settings, replay.world.seed, replay.world.workload));
  replay.table = std::move(table);
  // What was recorded of the nodes, and nothing else, happens to them.
  settings.faults.mtbf_h = 0;
  settings.faults.outages = replay.world.outages;
  replay.settings = std::move(settings);
  return replay;
}

// Runs the policy until it decides differently or has made `enough` decisions as recorded.
Result<DecisionMatch> match_with(const Replay& replay, const PolicyChoice& choice,
                                 std::size_t enough) {
  const Cluster& cluster = replay.world.cluster;
  const Settings& settings = replay.settings;
  Workload workload = replay.world.workload;
  FL_TRY_ASSIGN(policy, choice.make());
  FL_TRY_ASSIGN(speed, Speed::make(cluster, replay.table, workload, settings.reference_gpu,
                                   settings.network));
  SimBackend backend(cluster, workload, speed,
                     {.costs = settings.costs,
                      .faults = settings.faults,
                      .network = settings.network,
                      .seed = replay.world.seed});
  ProfileOptions profiles = settings.profiles;
  profiles.seed = replay.world.seed;
  DecisionMatcher matcher(replay.decisions);
  Engine engine(cluster, workload, speed, *policy, backend, matcher, replay.world.until, profiles);
  engine.begin({.policy = std::string(choice.entry->name),
                .options = choice.options.canonical(),
                .cluster = cluster.name,
                .trace = workload.name,
                .seed = replay.world.seed});
  while (!matcher.match().other && matcher.match().agreed < enough && engine.step()) {
  }
  engine.end();
  return matcher.match();
}

// The recorded decision of that number, or none where there are not so many.
Result<std::optional<Decision>> recorded_decision(const Replay& replay, std::size_t number) {
  std::optional<Decision> found;
  std::size_t next = 0;
  DecisionReader reader([&](const Decision& decision) {
    if (next++ == number) found = decision;
  });
  FL_TRY(read_journal(replay.journal, reader));
  return found;
}

// Error: in the world as it was rebuilt, the recorded policy does not make the first `enough`
// decisions as it made them.
Status check_rebuilt(const Replay& replay, std::size_t enough) {
  FL_TRY_ASSIGN(choice, parse_policy(replay.world.policy, replay.world.seed));
  FL_TRY_ASSIGN(again, match_with(replay, choice, enough));
  if (again.agreed >= enough) return {};
  FL_TRY_ASSIGN(was, recorded_decision(replay, again.agreed));
  const Time t = again.other ? std::min(was->t, again.other->t) : was->t;
  return input_error(
      "{}: this run cannot be rebuilt with these settings: its own policy does otherwise at {} s. "
      "Give its --set; about --cluster and --trace see fairlead replay --help: {}",
      replay.journal.string(), to_seconds(t), replay.world.policy);
}

Status replay(const Flags& flags) {
  FL_TRY_ASSIGN(replay, read_recorded(flags));
  FL_TRY_ASSIGN(choice, parse_policy(flags.policy, replay.world.seed));
  const std::size_t recorded = replay.decisions.size();
  // One more than recorded shows that there is no more.
  FL_TRY_ASSIGN(match, match_with(replay, choice, recorded + 1));
  ReplayResult result{.world = replay.world,
                      .policy = flags.policy,
                      .agreed = match.agreed,
                      .recorded = {},
                      .replayed = match.other};
  if (match.other || match.agreed < recorded) {
    FL_TRY(check_rebuilt(replay, std::min(match.agreed + 1, recorded)));
    FL_TRY_ASSIGN(was, recorded_decision(replay, match.agreed));
    result.recorded = std::move(was);
  }
  fmt::print("{}", flags.json ? replay_json(result) : replay_text(result));
  return {};
}

}  // namespace

Command add_replay(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "replay", "Say where another policy would first have decided differently");
  const auto flags = std::make_shared<Flags>();
  app->add_option("DIR|JOURNAL", flags->recorded, "result folder of simulate, or its journal.flj")
      ->required();
  app->add_option("--policy", flags->policy, "the other policy (fairlead policies)")
      ->required()
      ->type_name("NAME[:OPT=V,...]");
  app->add_option("--cluster", flags->cluster, "that of the run, for its links")
      ->type_name("FILE|NAME|SHORTHAND");
  app->add_option("--trace", flags->trace, "that of the run, for its column gpu_type")
      ->type_name("FILE");
  app->add_option("--set", flags->settings,
                  "a setting instead of the run's, see below; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_flag("--json", flags->json, "print JSON instead of text");
  app->footer(std::string(kHelp) + "\n" + settings_help());
  return {app, [flags] { return replay(*flags); }};
}

}  // namespace fairlead
