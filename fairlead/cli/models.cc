// `fairlead models`: shows and checks the tables of models and of GPU types, and the speeds that a daemon has learned.

#include "fairlead/base/printable.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/daemon.h"
#include "fairlead/cli/kubernetes.h"
#include "fairlead/cli/live_text.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/input/gpu_power.h"
#include "fairlead/input/models_file.h"
#include "fairlead/report/json.h"
#include "fairlead/report/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr std::string_view kGpuTypes = "gpu-types";

struct Flags {
  std::string name;
  std::string cluster;
  std::string user;
  std::vector<std::string> models;
  QueryFlags query;
  bool json = false;
};

// The GPU types of the table, as first written, in the order in which models name them.
std::vector<std::string> types_of(const SpeedTable& table) {
  std::vector<std::string> types;
  std::set<std::string> keys;
  for (const ModelProfile& model : table.models) {
    for (const TypeRates& rates : model.rates) {
      if (keys.insert(type_key(rates.gpu_type)).second) types.push_back(rates.gpu_type);
    }
  }
  return types;
}

const TypeRates* rates_of(const ModelProfile& model, std::string_view type) {
  const auto found = std::ranges::find(
      model.rates, type_key(type), [](const TypeRates& rates) { return type_key(rates.gpu_type); });
  return found == model.rates.end() ? nullptr : &*found;
}

double rate_of(const TypeRates& rates) { return rates.rows.front().consolidated; }

// Returns the worst two GPU types of the model if their speeds are implausible: they differ from the table of GPU types
// so much that the figures are probably wrong, or in two units.
std::string odd_ratio(const ModelProfile& model, const GpuFactors& factors) {
  constexpr double kOdd = 4;
  const TypeRates* high = nullptr;
  const TypeRates* low = nullptr;
  double highest = 0;
  double lowest = 0;
  for (const TypeRates& rates : model.rates) {
    const GpuFactor* factor = factors.find(rates.gpu_type);
    if (factor == nullptr || rate_of(rates) <= 0) continue;
    const double ratio = rate_of(rates) / factor->factor;
    if (high == nullptr || ratio > highest) highest = ratio, high = &rates;
    if (low == nullptr || ratio < lowest) lowest = ratio, low = &rates;
  }
  if (high == nullptr || highest < kOdd * lowest) return {};
  const double usual = factors.find(high->gpu_type)->factor / factors.find(low->gpu_type)->factor;
  return fmt::format("{}: {} is {:.3g} times as fast as {}; over many models it is {:.3g} times",
                     model.name, high->gpu_type, rate_of(*high) / rate_of(*low), low->gpu_type,
                     usual);
}

// Returns remarks for the author of the table.
std::vector<std::string> remarks_on(const SpeedTable& table, const GpuFactors& factors) {
  std::vector<std::string> remarks;
  for (const ModelProfile& model : table.models) {
    if (std::string odd = odd_ratio(model, factors); !odd.empty())
      remarks.push_back(std::move(odd));
  }
  for (const std::string& type : types_of(table)) {
    if (factors.find(type) != nullptr) continue;
    remarks.push_back(fmt::format("the table of GPU types does not have {}", type));
  }
  return remarks;
}

// The GPU types of the cluster that a model has no row for, by model.
Result<std::vector<std::string>> missing_on(const std::string& spec, const SpeedTable& table) {
  std::vector<std::string> lines;
  if (spec.empty()) return lines;
  FL_TRY_ASSIGN(cluster, load_cluster(spec));
  for (const ModelProfile& model : table.models) {
    std::vector<std::string> missing;
    for (const std::string& type : cluster.type_names) {
      const bool is_known =
          rates_of(model, type) != nullptr || rates_of(model, product_of_type(type)) != nullptr;
      if (!is_known) missing.push_back(type);
    }
    if (missing.empty()) continue;
    lines.push_back(fmt::format("{}: no row for {}", model.name, fmt::join(missing, ", ")));
  }
  return lines;
}

std::string cell_of(const TypeRates* rates) {
  if (rates == nullptr) return "-";
  return fmt::format("{}{:.4g}", rates->estimated.empty() ? "" : "~", rate_of(*rates));
}

// Types downwards and models to the right, or the other way round: whatever is narrower.
void print_rates(const SpeedTable& table) {
  const std::vector<std::string> types = types_of(table);
  const bool models_right = table.models.size() <= types.size();
  std::vector<Table::Column> columns = {{models_right ? "GPU type" : "model", Align::kLeft}};
  if (models_right) {
    for (const ModelProfile& model : table.models) columns.push_back({model.name});
  } else {
    for (const std::string& type : types) columns.push_back({type});
  }
  Table shown(std::move(columns));
  const std::size_t rows = models_right ? types.size() : table.models.size();
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<std::string> cells = {models_right ? types[row] : table.models[row].name};
    for (std::size_t i = 0; i < (models_right ? table.models.size() : types.size()); ++i) {
      const ModelProfile& model = table.models[models_right ? i : row];
      cells.push_back(cell_of(rates_of(model, types[models_right ? row : i])));
    }
    shown.add_row(std::move(cells));
  }
  fmt::print("{}", shown.text(stdout_style()));
}

void print_lines(std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  fmt::print("\n{}\n", title);
  for (const std::string& line : lines) fmt::print("  {}\n", printable(line));
}

// How estimates came about, each once.
std::vector<std::string> estimates_of(const SpeedTable& table) {
  std::vector<std::string> lines;
  std::set<std::string> told;
  for (const ModelProfile& model : table.models) {
    for (const TypeRates& rates : model.rates) {
      if (rates.estimated.empty()) continue;
      std::string line = fmt::format("{}: {}", rates.gpu_type, rates.estimated);
      if (told.insert(line).second) lines.push_back(std::move(line));
    }
  }
  return lines;
}

// `source`: the table's.
json json_of(const ModelProfile& model, const std::string& source) {
  json rates = json::array();
  for (const TypeRates& type : model.rates) {
    for (const RateRow& row : type.rows) {
      json one = {{"gpu_type", type.gpu_type},
                  {"gpus", row.gpus},
                  {"rate_per_gpu", row.consolidated},
                  {"estimated", type.estimated},
                  {"source", type.source.empty() ? source : type.source}};
      if (row.spread) one["spread_rate_per_gpu"] = *row.spread;
      rates.push_back(std::move(one));
    }
  }
  return {{"name", model.name}, {"weight", model.weight}, {"rates", rates}};
}

json json_of(const SpeedTable& table) {
  json models = json::array();
  for (const ModelProfile& model : table.models) models.push_back(json_of(model, table.source));
  return {{"source", table.source}, {"models", models}};
}

// Returns whether the name is of a table of the program or looks like a file.
bool is_table(const std::string& name) {
  constexpr std::string_view kFiles[] = {".csv", ".yaml", ".yml", ".json", ".gz"};
  std::error_code ignored;
  return std::ranges::any_of(kFiles, [&](auto end) { return name.ends_with(end); }) ||
         name.find('/') != std::string::npos || std::filesystem::exists(name, ignored) ||
         std::ranges::count(model_tables(), name) > 0;
}

Status show_table(const Flags& flags) {
  FL_TRY_ASSIGN(table, load_models(flags.name));
  FL_TRY_ASSIGN(missing, missing_on(flags.cluster, table));
  const std::vector<std::string> remarks = remarks_on(table, builtin_gpu_factors());
  if (flags.json) {
    json value = json_of(table);
    value["remarks"] = remarks;
    value["missing"] = missing;
    fmt::print("{}", json_text(value));
    return {};
  }
  print_rates(table);
  fmt::print(
      "\nrates per GPU of the smallest gang, in any unit that is one model's; ~ estimated\n");
  fmt::print("source: {}\n", printable(table.source));
  print_lines("estimated", estimates_of(table));
  print_lines("to look at", remarks);
  print_lines(fmt::format("on {}", flags.cluster), missing);
  return {};
}

// Returns texts such as "V100 833, T4 ~295", of all types or, if `type` is one of them, of how many times as fast it is
// as each other type. A guess has a mark.
std::string rates_text(const ModelProfile& model, const TypeRates* type, bool is_guess) {
  std::vector<std::string> texts;
  for (const TypeRates& rates : model.rates) {
    if (&rates == type || rate_of(rates) <= 0) continue;
    const bool is_estimated =
        !rates.estimated.empty() || (type != nullptr && !type->estimated.empty());
    const double shown = type == nullptr ? rate_of(rates) : rate_of(*type) / rate_of(rates);
    texts.push_back(
        fmt::format("{} {}{:.3g}", rates.gpu_type, is_guess || is_estimated ? "~" : "", shown));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Searches all tables for models with this part of a name, for the rows for such names, and for the GPU type.
Status search_tables(const std::string& name, bool as_json) {
  Table models({{"table", Align::kLeft}, {"model", Align::kLeft}, {"rates", Align::kLeft}});
  Table types(
      {{"table", Align::kLeft}, {"model", Align::kLeft}, {"times as fast as on", Align::kLeft}});
  json found = {{"models", json::array()}, {"gpu_types", json::array()}};
  for (const std::string& from : model_tables()) {
    FL_TRY_ASSIGN(table, load_models(from));
    const ModelProfile* const alike =
        table.find(name) == nullptr ? table.find_alike(name) : nullptr;
    const auto add = [&](const char* key, const ModelProfile& model, bool is_guess) {
      json one = json_of(model, table.source);
      one["table"] = from;
      one["is_guess"] = is_guess;
      found[key].push_back(std::move(one));
    };
    for (const ModelProfile& model : table.models) {
      const bool is_named = type_key(model.name).find(type_key(name)) != std::string::npos;
      if (is_named || &model == alike) {
        add("models", model, !is_named);
        models.add_row({from, is_named ? model.name : fmt::format("~ {}", model.name),
                        rates_text(model, nullptr, !is_named)});
      }
      if (const TypeRates* type = rates_of(model, name)) {
        add("gpu_types", model, false);
        types.add_row({from, model.name, rates_text(model, type, false)});
      }
    }
  }
  if (found["models"].empty() && found["gpu_types"].empty())
    return input_error("no table, file, model or GPU type of a table (fairlead models): {}", name);
  if (as_json) {
    fmt::print("{}", json_text(found));
    return {};
  }
  if (!found["models"].empty()) fmt::print("{}\n", models.text(stdout_style()));
  if (!found["gpu_types"].empty())
    fmt::print("{} is, in training:\n{}\n", name, types.text(stdout_style()));
  fmt::print("~ estimated; a model with ~ stands for models with such a name\n");
  return {};
}

void show_gpu_types(bool as_json) {
  const GpuFactors factors = builtin_gpu_factors();
  if (as_json) {
    json types = json::array();
    for (const GpuFactor& type : factors.types) {
      types.push_back({{"name", type.gpu_type},
                       {"factor", type.factor},
                       {"estimated", type.estimated},
                       {"source", type.source.empty() ? factors.source : type.source}});
    }
    json power = json::array();
    for (const auto& [type, watts] : builtin_gpu_power()) {
      power.push_back({{"name", type},
                       {"busy_w", watts.busy_w},
                       {"idle_w", watts.idle_w ? json(*watts.idle_w) : json()},
                       {"source", watts.source}});
    }
    fmt::print("{}", json_text({{"source", factors.source}, {"types", types}, {"power", power}}));
    return;
  }
  Table table({{"GPU type", Align::kLeft}, {"factor"}, {"estimated", Align::kLeft}});
  for (const GpuFactor& type : factors.types) {
    table.add_row({type.gpu_type, fmt::format("{:.3g}", type.factor), type.estimated});
  }
  fmt::print("{}\nsource: {}\n", table.text(stdout_style()), factors.source);
  Table watts({{"GPU type", Align::kLeft}, {"busy W"}, {"idle W"}, {"source", Align::kLeft}});
  for (const auto& [type, power] : builtin_gpu_power()) {
    watts.add_row({type, fmt::format("{:g}", power.busy_w),
                   power.idle_w ? fmt::format("{:g}", *power.idle_w) : "", power.source});
  }
  fmt::print("\n{}", watts.text(stdout_style()));
}

Status list_tables(bool as_json) {
  Table table(
      {{"table", Align::kLeft}, {"models"}, {"GPU types", Align::kLeft}, {"source", Align::kLeft}});
  json tables = json::array();
  for (const std::string& name : model_tables()) {
    FL_TRY_ASSIGN(one, load_models(name));
    constexpr std::size_t kTypesShown = 5;
    const std::vector<std::string> types = types_of(one);
    std::vector<std::string> shown = types;
    shown.resize(std::min(types.size(), kTypesShown));
    std::string text = fmt::format("{}", fmt::join(shown, ", "));
    if (types.size() > kTypesShown) text += fmt::format(" and {} more", types.size() - kTypesShown);
    table.add_row(
        {name, count_text(static_cast<std::int64_t>(one.models.size())), text, one.source});
    tables.push_back({{"name", name},
                      {"models", one.models.size()},
                      {"gpu_types", types},
                      {"source", one.source}});
  }
  if (as_json) {
    fmt::print("{}", json_text(tables));
    return {};
  }
  fmt::print("{}\n{} is the table of GPU types, for --set unknown_speed=generic.\n",
             table.text(stdout_style()), kGpuTypes);
  return {};
}

Status show_learned(const DaemonQueries& daemon, bool as_json) {
  FL_TRY_ASSIGN(answer, daemon.get("/v1/models"));
  if (as_json) {
    fmt::print("{}", json_text(answer));
    return {};
  }
  FL_TRY_ASSIGN(cluster, daemon.cluster());
  const std::vector<ModelAnswer> models = model_answers(answer);
  if (models.empty()) {
    fmt::print("The daemon has measured no speed yet.\n");
    return {};
  }
  fmt::print(
      "{}\nSPEED is of a GPU, relative to the first speed that was measured for the model.\n",
      models_text(cluster, models, stdout_style()));
  const std::string profiles = profiles_text(models, stdout_style());
  if (!profiles.empty())
    fmt::print("\n{}\nWORKERS add up their gradients in each step; SAMPLES are of one worker.\n",
               profiles);
  return {};
}

// Lists the tables of the program, below the speeds that a daemon has learned if there is one.
Status list_all(const Flags& flags) {
  if (!flags.json) {
    Result<DaemonQueries> daemon = connect(flags.query);
    const bool is_named = flags.query.is_kubernetes() || !flags.query.socket.empty();
    if (!daemon && is_named) return tl::unexpected(daemon.error());
    if (daemon) {
      FL_TRY(show_learned(*daemon, false));
      fmt::print("\n");
    }
  }
  return list_tables(flags.json);
}

Status forget(const Flags& flags) {
  if (flags.query.is_kubernetes())
    return input_error("--from: the scheduler on Kubernetes forgets no speed that it has measured");
  FL_TRY_ASSIGN(daemon, Daemon::connect(flags.query.socket));
  const std::string user = flags.user.empty() ? own_name() : flags.user;
  for (const std::string& model : flags.models)
    FL_TRY(daemon.post("/v1/models/forget", {{"user", user}, {"model", model}}));
  return {};
}

constexpr std::string_view kHelp =
    "`fairlead models` lists the speeds that the daemon of this machine has learned, if there is\n"
    "one, and the tables of this program.\n"
    "\n"
    "A table of models has the training speed of each model on each GPU type; --set models=TABLE\n"
    "or FILE of simulate and compare takes one (default: the table slides). Only jobs whose model\n"
    "has a name in the table take its speeds; the table modern also guesses by parts of names, as\n"
    "`Assumed` shows. A missing GPU type of a model is an error if it matters, unless --set\n"
    "unknown_speed= chooses an assumption.\n"
    "\n"
    "A FILE is read and checked: its ratio of two GPUs is compared with the table of GPU types.\n"
    "Measured speeds are CSV, in any unit that is the same for all rows of a model:\n"
    "\n"
    "  model,gpu_type,gpus,samples_per_s\n"
    "  our-llm,A100,8,412\n"
    "  our-llm,H100,8,905\n"
    "\n"
    "docs/formats.md has its further columns and the YAML form.\n"
    "\n"
    "Examples:\n"
    "  fairlead models\n"
    "  fairlead models learned --from kubernetes\n"
    "  fairlead models forget train.py\n"
    "  fairlead models modern\n"
    "  fairlead models llama\n"
    "  fairlead models H100\n"
    "  fairlead models gpu-types\n"
    "  fairlead models measured.csv --cluster 4xA100:8,2xH100:8\n";

}  // namespace

// The subcommands come before `models`, because the first one named is run.
std::vector<Command> add_models(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "models", "List learned speeds and tables of models, or show and check a table or file");
  const auto flags = std::make_shared<Flags>();
  app->add_option(
      "NAME", flags->name,
      "a table, a file, gpu-types, or a part of a model's name or a GPU type to search");
  app->add_option("--cluster", flags->cluster, "also print its GPU types that each model lacks")
      ->type_name("FILE|NAME|SHORTHAND");
  app->add_flag("--json", flags->json, "print JSON instead of tables; without a NAME, of tables");
  add_query_flags(*app, flags->query);
  app->footer(std::string(kHelp));
  CLI::App* learned = app->add_subcommand("learned", "List the speeds that a daemon has measured");
  learned->fallthrough();  // the flags of `models`
  CLI::App* forgets = app->add_subcommand(
      "forget", "Forget the measured speeds of models; those on GPUs that run are measured again");
  forgets->fallthrough();
  forgets->add_option("MODEL", flags->models, "the models, as `fairlead models` calls them")
      ->required();
  forgets->add_option("-u,--user", flags->user,
                      "their user (default: you); of others: administrators");
  return {{learned,
           [flags]() -> Status {
             FL_TRY_ASSIGN(daemon, connect(flags->query));
             return show_learned(daemon, flags->json);
           }},
          {forgets, [flags] { return forget(*flags); }},
          {app, [flags]() -> Status {
             if (flags->name.empty()) return list_all(*flags);
             if (flags->name == kGpuTypes) {
               show_gpu_types(flags->json);
               return {};
             }
             return is_table(flags->name) ? show_table(*flags)
                                          : search_tables(flags->name, flags->json);
           }}};
}

}  // namespace fairlead
