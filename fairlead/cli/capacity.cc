#include "fairlead/compare/capacity.h"

#include "fairlead/cli/commands.h"
#include "fairlead/cli/folder_lock.h"
#include "fairlead/cli/run_flags.h"
#include "fairlead/compare/read_trace.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/report/json.h"
#include "fairlead/report/result_files.h"
#include "fairlead/report/summary_text.h"
#include "fairlead/report/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr std::string_view kAnswerFile = "capacity.json";

struct Flags : RunFlags {
  std::string policy;
  std::vector<std::string> added, removed, prices;
  std::string target;
};

Result<CapacityQuestion> question_of(const Flags& flags) {
  FL_TRY_ASSIGN(config, run_config(flags, flags.policy));
  FL_TRY_ASSIGN(cluster, load_cluster(config.cluster));
  std::vector<NodeOffer> added;
  for (const std::string& text : flags.added) {
    FL_TRY_ASSIGN(kind, parse_node_offer(text));
    added.push_back(std::move(kind));
  }
  std::optional<WaitTarget> target;
  if (!flags.target.empty()) {
    FL_TRY_ASSIGN(parsed, parse_wait_target(flags.target));
    target = std::move(parsed);
  }
  GpuPrices prices;
  for (const std::string& text : flags.prices) FL_TRY(add_price(text, prices));
  FL_TRY_ASSIGN(trace, read_trace_of(config));
  return CapacityQuestion{.cluster = std::move(cluster),
                          .trace = std::move(trace),
                          .policy = config.policy,
                          .settings = config.settings,
                          .seed = config.seed,
                          .until = config.until,
                          .added = std::move(added),
                          .removed = flags.removed,
                          .target = std::move(target),
                          .prices = std::move(prices)};
}

std::string time_cell(double s, TimeUnits units) {
  return units == TimeUnits::kHuman ? length_text(s) : number_text(s, 1);
}

// Returns the runs side by side, each with its gain of mean wait, in all and by added or removed node.
Table changes_table(const CapacityAnswer& answer, TimeUnits units) {
  const auto leaves_jobs = [](const CapacityRun& run) { return run.waits.unfinished > 0; };
  const bool has_unfinished =
      leaves_jobs(answer.now) || std::ranges::any_of(answer.changes, leaves_jobs);
  std::vector<Table::Column> columns = {{"change", Align::kLeft},
                                        {"nodes"},
                                        {"GPUs"},
                                        {"mean wait"},
                                        {"p90"},
                                        {"less wait"},
                                        {"per node"}};
  if (has_unfinished) columns.push_back({"unfinished"});
  Table table(std::move(columns));
  const auto add = [&](const CapacityRun& run) {
    const double less_s = answer.now.waits.wait_mean_s - run.waits.wait_mean_s;
    const auto nodes = std::abs(static_cast<double>(run.nodes - answer.now.nodes));
    const bool is_change = !run.change.empty();
    std::vector<std::string> cells = {
        is_change ? run.change : "as it is",
        count_text(run.nodes),
        count_text(run.gpus),
        time_cell(run.waits.wait_mean_s, units),
        time_cell(run.waits.wait_p90_s, units),
        is_change ? time_cell(less_s, units) : "-",
        is_change && nodes > 0 ? time_cell(less_s / nodes, units) : "-"};
    if (has_unfinished) cells.push_back(count_text(run.waits.unfinished));
    table.add_row(std::move(cells));
  };
  add(answer.now);
  for (const CapacityRun& run : answer.changes) add(run);
  return table;
}

// "3 nodes of 8 H100 + 1 node of 8 L40S".
std::string nodes_text(const CapacityQuestion& question, const CapacityPlan& plan) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (plan.nodes[i] == 0) continue;
    const NodeOffer& kind = question.added[i];
    parts.push_back(fmt::format("{} node{} of {} {}", plan.nodes[i], plan.nodes[i] == 1 ? "" : "s",
                                kind.gpus, kind.gpu_type));
  }
  return parts.empty() ? "no node" : fmt::format("{}", fmt::join(parts, " + "));
}

std::string target_text(const CapacityQuestion& question, const CapacityAnswer& answer,
                        TimeUnits units) {
  if (!question.target) return {};
  const WaitTarget& target = *question.target;
  const std::string without =
      question.removed.empty() ? "" : fmt::format(" without {}", fmt::join(question.removed, ", "));
  if (answer.plans.empty())
    return fmt::format("\n{}{}: not reached with these nodes.\n", target.text, without);
  const bool is_one = answer.plans.size() == 1;
  std::string text =
      fmt::format("\n{}{} takes{}:\n", target.text, without, is_one ? "" : " one of");
  for (std::size_t i = 0; i < answer.plans.size(); ++i) {
    const CapacityPlan& plan = answer.plans[i];
    text += fmt::format("  {}: {}", nodes_text(question, plan),
                        time_cell(plan.waits.*(target.figure), units));
    if (plan.price_per_hour) text += fmt::format(", {:.2f} per hour", *plan.price_per_hour);
    text += !is_one && i == answer.cheapest ? ", the cheapest\n" : "\n";
  }
  for (std::size_t kind = 0; kind < question.added.size(); ++kind) {
    const bool is_used = std::ranges::any_of(
        answer.plans, [&](const CapacityPlan& plan) { return plan.nodes[kind] > 0; });
    if (!is_used) text += fmt::format("  not reached with {} alone\n", question.added[kind].text);
  }
  return text;
}

json waits_json(const WaitFigures& waits) {
  json object = {{"finished", waits.finished}, {"unfinished", waits.unfinished}};
  for (const WaitFigure& figure : wait_figures())
    object[fmt::format("{}_s", figure.name)] = waits.*figure.seconds;
  return object;
}

// "wait_mean, wait_p50".
std::string figure_names() {
  std::vector<std::string_view> names;
  for (const WaitFigure& figure : wait_figures()) names.push_back(figure.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

json run_json(const CapacityRun& run) {
  return {{"change", run.change},
          {"nodes", run.nodes},
          {"gpus", run.gpus},
          {"waits", waits_json(run.waits)}};
}

std::string answer_json(const CapacityQuestion& question, const CapacityAnswer& answer) {
  json changes = json::array();
  for (const CapacityRun& run : answer.changes) changes.push_back(run_json(run));
  json plans = json::array();
  for (const CapacityPlan& plan : answer.plans) {
    json nodes = json::object();
    for (std::size_t i = 0; i < plan.nodes.size(); ++i)
      nodes[question.added[i].text] = plan.nodes[i];
    plans.push_back(
        {{"nodes", nodes},
         {"waits", waits_json(plan.waits)},
         {"price_per_hour", plan.price_per_hour ? json(*plan.price_per_hour) : json()}});
  }
  return json_text({{"policy", question.policy},
                    {"now", run_json(answer.now)},
                    {"changes", changes},
                    {"target", question.target ? json(question.target->text) : json()},
                    {"plans", plans},
                    {"cheapest", answer.cheapest ? json(*answer.cheapest) : json()}});
}

Status find_and_print(const Flags& flags) {
  FL_TRY_ASSIGN(question, question_of(flags));
  FL_TRY_ASSIGN(answer, capacity(question));
  FolderLock lock;
  FL_TRY_ASSIGN(folder, ResultFolder::open(flags.out));
  FL_TRY(lock.take(flags.out));
  FL_TRY_ASSIGN(file, OutputFile::create(folder.file(kAnswerFile)));
  const std::string text = answer_json(question, answer);
  file.write(text);
  FL_TRY(folder.add(std::move(file), kAnswerFile));
  FL_TRY(folder.keep());
  if (flags.json) {
    fmt::print("{}", text);
    return {};
  }
  fmt::print("{}{}{}\nresults in {}\n",
             changes_table(answer, flags.units).text(stdout_style(), kScreenColumns),
             target_text(question, answer, flags.units),
             assumed_text(answer.assumed, stdout_style()), flags.out);
  return {};
}

}  // namespace

Command add_capacity(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("capacity", "Find which nodes would shorten the waits of a trace");
  const auto flags = std::make_shared<Flags>();
  add_input_flags(*app, *flags,
                  "folder of capacity.json, created if missing (default: out/capacity)");
  app->add_option("--policy", flags->policy, "policy with its options (fairlead policies)")
      ->required()
      ->type_name("NAME[:OPT=V,...]");
  const auto add_list = [&](const char* name, std::vector<std::string>& values, const char* help,
                            const char* type) {
    app->add_option(name, values, help)
        ->type_name(type)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  add_list("--add", flags->added,
           "nodes to add, or for --target at most as many: 4xH100:8 is 4 nodes of 8 H100; may be "
           "repeated",
           "COUNTxTYPE:GPUS");
  add_list("--remove", flags->removed, "nodes to remove; may be repeated",
           "rack=NAME|node=NAME|type=NAME");
  app->add_option("--target", flags->target,
                  fmt::format("find the least number of added nodes of each kind for which this is "
                              "true, without the removed ones; figures: {}",
                              figure_names()))
      ->type_name("\"FIGURE < LENGTH\"");
  add_list("--price", flags->prices, "price of one GPU of a type for an hour; may be repeated",
           "TYPE=NUMBER/h");
  app->add_flag("--json", flags->json, "print JSON instead of a table");
  add_units_flag(*app, flags->units);
  app->footer(
      "Example:\n"
      "  fairlead capacity --cluster lab/cluster.yaml --trace lab/jobs.csv --policy fairlead \\\n"
      "      --add 4xH100:8 --add 8xL40S:4 --remove rack=old --target \"wait_p90 < 30 min\" \\\n"
      "      --price H100=2.5/h --price L40S=0.9/h\n"
      "\n"
      "Each change alone, and all together, is a run with the same jobs. A wait is the time\n"
      "without GPUs from submission to finish. More: docs/capacity.md.\n");
  return {app, [app, flags]() -> Status {
            if (app->count("--out") == 0) flags->out = "out/capacity";
            return find_and_print(*flags);
          }};
}

}  // namespace fairlead
