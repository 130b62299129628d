// fairlead-fakelet: plays the kubelets, and the training, of nodes that do not exist (fakelet.h).

#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/kube/open_cluster.h"
#include "fairlead/run/settings.h"

#include "fakelet.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>

namespace fairlead {
namespace {

struct Flags {
  std::string cluster;
  std::vector<std::string> settings;
  std::string logs;
  double factor = 1;
  std::uint64_t seed = 0;
};

// Returns the same world as `fairlead simulate` with the same flags.
Result<TrainingWorld> world_of(const Flags& flags) {
  FL_TRY_ASSIGN(cluster, load_cluster(flags.cluster));
  FL_TRY_ASSIGN(settings, parse_settings(flags.settings));
  SpeedTable models = builtin_models();
  if (!settings.models.empty()) {
    FL_TRY_ASSIGN(loaded, load_models(settings.models));
    models = std::move(loaded);
  }
  if (!settings.model_costs) {
    for (ModelProfile& model : models.models) model.costs = {};
  }
  return TrainingWorld{.cluster = std::move(cluster),
                       .models = std::move(models),
                       .reference_gpu = settings.reference_gpu,
                       .network = settings.network,
                       .costs = settings.costs,
                       .checkpoint_interval = settings.faults.checkpoint_interval};
}

Status play(const Flags& flags) {
  FL_TRY_ASSIGN(world, world_of(flags));
  FL_TRY_ASSIGN(opened, open_cluster(""));
  Fakelet fakelet(*opened.door, world, {.factor = flags.factor, .logs = flags.logs},
                  [](const std::string& line) {
                    fmt::print("{}\n", line);
                    std::fflush(stdout);
                  });
  fakelet.make_nodes();
  fakelet.run(Time::never());
  return {};
}

}  // namespace
}  // namespace fairlead

int main(int count, char** words) {
  CLI::App app("Plays the kubelets, and the training, of nodes that are not there");
  fairlead::Flags flags;
  app.add_option("--cluster", flags.cluster, "as of fairlead simulate; its nodes are made")
      ->required();
  app.add_option("--set", flags.settings, "as of fairlead simulate: models, reference_gpu, costs");
  app.add_option("--factor", flags.factor, "simulated seconds that pass in one")
      ->check(CLI::PositiveNumber);
  app.add_option("--logs", flags.logs, "stores the output of pods there, as kubelets do");
  CLI11_PARSE(app, count, words);
  if (const fairlead::Status done = fairlead::play(flags); !done) {
    fmt::print(stderr, "fairlead-fakelet: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
