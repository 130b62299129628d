#include "fairlead/cli/run_flags.h"

#include "fairlead/base/parse.h"
#include "fairlead/cli/run_file.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <map>

namespace fairlead {

CLI::Option* add_whole_number(CLI::App& app, const std::string& name, std::uint64_t& value,
                              const std::string& help) {
  const auto problem = [](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end) return "";
    return fmt::format("expected a whole number from 0 to {}: {}",
                       std::numeric_limits<std::uint64_t>::max(), text);
  };
  return app.add_option(name, value, help)->check(problem)->type_name("N");
}

CLI::Validator at_least(std::int64_t least) {
  return {[least](const std::string& text) -> std::string {
            const auto number = parse_integer(text);
            if (number && *number >= least) return "";
            return fmt::format("expected a whole number from {}: {}", least, text);
          },
          ""};
}

void add_read_flags(CLI::App& app, ReadFlags& flags) {
  const auto add = [&](const char* name, std::string& value, const std::string& help,
                       const char* type) {
    app.add_option(name, value, help)->type_name(type)->group("Reading the trace");
  };
  add("--format", flags.format,
      fmt::format("format of the trace (default: detected from its content): {}", format_names()),
      "FORMAT");
  add("--columns", flags.columns,
      fmt::format("columns of a table with any header; the fields are {}", table_fields()),
      "FIELD=COLUMN,...");
  add("--unit", flags.unit, "unit of numeric columns whose header has none (default: s)",
      "s|ms|min|h");
  add("--delimiter", flags.delimiter,
      "delimiter of such a table's columns (default: detected from its header)", ",|;|tab");
  add("--decimal", flags.decimal,
      "decimal sign in such a table (default: a point, and also a comma if ; or tabs separate)",
      "point|comma");
  add("--dates", flags.dates, "whether 04/05/2026 has the day or the month first", "dmy|mdy");
  add("--utc-offset", flags.utc_offset, std::string(kUtcOffsetHelp), "OFFSET[,TIME=OFFSET]...");
  add("--from", flags.from, "jobs submitted from then on: a date, or a time of the trace", "TIME");
  add("--to", flags.to, "jobs submitted before", "TIME");
  add("--users", flags.users, "jobs of these users", "USER,...");
  add("--sample", flags.sample, "this part of all jobs, the same ones each time", "PART");
  app.add_option("--where", flags.where,
                 "rows with this value in the column (COLUMN!=VALUE: without it); may be repeated")
      ->type_name("COLUMN=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Reading the trace");
}

void add_units_flag(CLI::App& app, TimeUnits& units) {
  const std::map<std::string, TimeUnits> names = {{"human", TimeUnits::kHuman},
                                                  {"s", TimeUnits::kSeconds}};
  app.add_option_function<std::string>(
         "--units", [&units, names](const std::string& name) { units = names.at(name); },
         "times in tables: for people (2 d 6 h; the default), or in seconds; files and --json have "
         "seconds always")
      ->check(CLI::IsMember({"human", "s"}))
      ->type_name("human|s");
}

void add_input_flags(CLI::App& app, RunFlags& flags, const std::string& out_help,
                     std::vector<std::string>* clusters) {
  const char* const help =
      "a preset (fairlead clusters), a shorthand (12xV100:4 is 12 nodes of 4 V100) or a file";
  CLI::Option* cluster =
      clusters == nullptr ? app.add_option("--cluster", flags.cluster, help)
                          : app.add_option("--cluster", *clusters,
                                           std::string(help) + "; may be repeated, to compare them")
                                ->expected(1)
                                ->allow_extra_args(false)
                                ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  cluster->required()->type_name("FILE|NAME|SHORTHAND");
  app.add_option("--trace", flags.trace,
                 "the jobs; may be compressed with gzip or zstd; - is standard input")
      ->required()
      ->type_name("FILE");
  add_read_flags(app, flags.read);
  app.add_option("--out", flags.out, out_help)->type_name("DIR");
  add_whole_number(app, "--seed", flags.seed, "seed of all random draws (default: 0)");
  app.add_option(
         "--until", flags.until,
         "end the run at this simulated time; unfinished jobs are then pending (default: no "
         "limit)")
      ->type_name("SECONDS");
  app.add_option("--set", flags.settings, "one setting of the run, listed below; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_run_flags(CLI::App& app, RunFlags& flags, const std::string& out_help,
                   std::vector<std::string>* clusters) {
  add_input_flags(app, flags, out_help, clusters);
  app.add_option("--decision-budget", flags.decision_budget, std::string(kBudgetHelp))
      ->check(at_least(0))
      ->type_name("N");
  app.add_flag("--audit", flags.audit,
               "check the journal independently of the engine; fail if it is inconsistent");
  app.add_flag("--json", flags.json, "print JSON instead of a table");
  add_units_flag(app, flags.units);
  add_run_file_flags(app);
}

}  // namespace fairlead
