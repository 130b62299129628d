// `fairlead replay`.

#include "fairlead/replay/replay.h"

#include "fairlead/cli/commands.h"
#include "fairlead/cli/replay_text.h"
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
    "The journal has the run's cluster, jobs and outages, not its settings: these are taken from\n"
    "the summary.json beside it, and from --set. --cluster is needed where the network is\n"
    "computed, since the journal has no links; --trace where it has a column gpu_type. Whether\n"
    "the run was rebuilt is checked: its own policy must decide as it did. It exits with 0\n"
    "whether there is a difference or not.\n";

}  // namespace

Command add_replay(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "replay", "Say where another policy would first have decided differently");
  const auto flags = std::make_shared<Flags>();
  app->add_option("DIR|JOURNAL", flags->request.recorded,
                  "result folder of simulate, or its journal.flj")
      ->required();
  app->add_option("--policy", flags->request.policy, "the other policy (fairlead policies)")
      ->required()
      ->type_name("NAME[:OPT=V,...]");
  app->add_option("--cluster", flags->request.cluster, "that of the run, for its links")
      ->type_name("FILE|NAME|SHORTHAND");
  app->add_option("--trace", flags->request.trace, "that of the run, for its column gpu_type")
      ->type_name("FILE");
  app->add_option("--set", flags->request.settings,
                  "a setting instead of the run's, see below; may be repeated")
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
