// `fairlead replay`.

#include "fairlead/replay/replay.h"

#include "fairlead/cli/commands.h"
#include "fairlead/cli/replay_text.h"
#include "fairlead/cli/run_flags.h"
#include "fairlead/run/settings.h"

#include <fmt/format.h>

#include <memory>

namespace fairlead {
namespace {

struct Flags {
  ReplayRequest request;
  bool json = false;
};

constexpr std::string_view kHelp =
    "Examples:\n"
    "  fairlead replay out/fifo --policy fifo:skip=true\n"
    "  fairlead replay out/cmp/tiresias/journal.flj --policy las --set costs=none\n"
    "\n"
    "Cluster, jobs and outages come from the journal; settings from the summary.json beside it\n"
    "and from --set. --cluster is needed with network=analytic or contention, because the journal\n"
    "has no links, and --trace if the trace has a column gpu_type. The rebuilt run is verified: "
    "the\n"
    "recorded policy must repeat its decisions. A difference does not change the exit code, 0.\n";

}  // namespace

Command add_replay(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "replay", "Find the first decision at which another policy differs from a recorded run");
  const auto flags = std::make_shared<Flags>();
  app->add_option("DIR|JOURNAL", flags->request.recorded,
                  "result folder of simulate, or its journal.flj")
      ->required();
  app->add_option("--policy", flags->request.policy,
                  "the other policy with its options (fairlead policies)")
      ->required()
      ->type_name("NAME[:OPT=V,...]");
  app->add_option("--cluster", flags->request.cluster,
                  "the cluster of the recorded run, for its links")
      ->type_name("FILE|NAME|SHORTHAND");
  app->add_option("--trace", flags->request.trace,
                  "the trace of the recorded run, for its column gpu_type")
      ->type_name("FILE");
  add_read_flags(*app, flags->request.read);
  app->add_option("--set", flags->request.settings,
                  "replaces one setting of the recorded run, see below; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_flag("--json", flags->json, "print JSON instead of text");
  app->footer(std::string(kHelp) + "\n" + settings_help());
  return {app, [flags]() -> Status {
            FL_TRY_ASSIGN(result, replay(flags->request));
            fmt::print("{}", flags->json ? replay_json(result) : replay_text(result));
            return {};
          }};
}

}  // namespace fairlead
