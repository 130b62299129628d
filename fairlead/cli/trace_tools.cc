// `fairlead trace inspect | convert | generate`.

#include "fairlead/cli/commands.h"
#include "fairlead/cli/run_flags.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/trace/convert.h"
#include "fairlead/trace/generate.h"
#include "fairlead/trace/inspect.h"
#include "fairlead/trace/trace.h"

#include <fmt/format.h>

#include <cstdio>

namespace fairlead {
namespace {

// The common input of inspect and convert.
struct Input {
  std::string file;
  ReadFlags read;
  bool strict = false;
  bool lenient = false;
  bool tasks = false;
};

void add_input(CLI::App& app, Input& input) {
  app.add_option("FILE", input.file,
                 "the trace; may be compressed with gzip or zstd; - is standard input")
      ->required();
  add_read_flags(app, input.read);
  auto* strict = app.add_flag("--strict", input.strict, "a bad row is an error");
  app.add_flag("--lenient", input.lenient, "a bad row is counted and skipped")->excludes(strict);
  app.add_flag("--tasks", input.tasks,
               "keep the GPUs of a task together, if Helios, Acme or PAI have tasks");
}

Result<Workload> read(const Input& input) {
  FL_TRY_ASSIGN(options, read_options(input.read));
  if (input.strict) options.reading = Reading::kStrict;
  if (input.lenient) options.reading = Reading::kLenient;
  if (input.tasks) options.tasks = Tasks::kAsInTrace;
  return read_trace(input.file, options);
}

// "-" is standard output.
Status write_trace(const Workload& workload, const std::string& out) {
  if (out != "-") return write_native(workload, out);
  write_native(workload,
               [](std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), stdout); });
  return {};
}

void add_output(CLI::App& app, std::string& out) {
  app.add_option("-o,--output", out, "native CSV file to write; - is standard output")
      ->required()
      ->type_name("FILE");
}

Command add_inspect(CLI::App& trace) {
  CLI::App* app = trace.add_subcommand("inspect", "Print statistics of a trace");
  struct Flags : Input {
    bool json = false;
    TimeUnits units = TimeUnits::kHuman;
  };
  const auto flags = std::make_shared<Flags>();
  add_input(*app, *flags);
  app->add_flag("--json", flags->json, "print JSON instead of a table");
  add_units_flag(*app, flags->units);
  app->footer("Example:\n  fairlead trace inspect philly.csv.gz\n");
  return {app, [flags]() -> Status {
            FL_TRY_ASSIGN(workload, read(*flags));
            const TraceStats stats = inspect(workload);
            fmt::print("{}", flags->json ? to_json(stats) : to_text(stats, flags->units));
            return {};
          }};
}

Command add_convert(CLI::App& trace) {
  CLI::App* app = trace.add_subcommand("convert", "Write any trace in the native format");
  struct Flags : Input {
    std::string out;
    bool anonymise = false;
  };
  const auto flags = std::make_shared<Flags>();
  add_input(*app, *flags);
  add_output(*app, flags->out);
  app->add_flag("--anonymise", flags->anonymise,
                "call users u1, u2, ..., their groups g1, ... and jobs j1, ...; models, GPU types, "
                "sizes and times stay");
  app->footer(
      "Examples:\n"
      "  fairlead trace convert cluster_log.csv --format helios -o jobs.csv\n"
      "  fairlead trace convert log.csv --columns job=JobID,gpus=NGPUs --unit ms -o jobs.csv\n");
  return {app, [flags]() -> Status {
            FL_TRY_ASSIGN(workload, read(*flags));
            if (flags->anonymise) anonymise(workload);
            return write_trace(workload, flags->out);
          }};
}

struct GenerateFlags {
  GenerateOptions options;
  std::string cluster;
  std::int64_t users = 10;
  std::vector<std::int64_t> tickets = {1};
  std::string out;
};

void add_generate_flags(CLI::App& app, GenerateFlags& flags) {
  GenerateOptions& options = flags.options;
  app.add_option("--jobs", options.jobs, "number of jobs")->required()->type_name("N");
  app.add_option("--cluster", flags.cluster, "cluster whose GPUs are the capacity of --load")
      ->required()
      ->type_name("FILE|NAME|SHORTHAND");
  auto* load = app.add_option("--load", options.load,
                              "offered load: GPU time requested / capacity (default: 0.9)");
  load->type_name("X");
  app.add_option("--rate", options.jobs_per_hour, "mean arrivals per hour, instead of --load")
      ->excludes(load)
      ->check(CLI::PositiveNumber)
      ->type_name("JOBS_PER_HOUR");
  add_whole_number(app, "--seed", options.seed, "seed of all random draws (default: 1)");
  app.add_option("--users", flags.users,
                 "number of users; the n-th submits in proportion to 1/n (default: 10)")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  app.add_option("--tickets", flags.tickets,
                 "tickets of the first user, the second, ..., repeated as needed (default: 1)")
      ->delimiter('/')
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N/N/...");
  app.add_option("--daily-swing", options.daily_swing,
                 "amplitude of the daily cycle of arrivals: a fraction of their mean, 0 to 1 "
                 "(default: 0.5)")
      ->type_name("X");
  app.add_option("--duration-scale", options.duration_scale,
                 "factor on every duration (default: 1)")
      ->type_name("X");
  add_output(app, flags.out);
}

Status generate_trace(GenerateFlags flags) {
  FL_TRY_ASSIGN(cluster, load_cluster(flags.cluster));
  flags.options.capacity_gpus = cluster.gpus;
  flags.options.users = unequal_users(flags.users, flags.tickets);
  FL_TRY_ASSIGN(workload, generate(flags.options));
  return write_trace(workload, flags.out);
}

Command add_generate(CLI::App& trace) {
  CLI::App* app = trace.add_subcommand("generate", "Write a synthetic trace");
  const auto flags = std::make_shared<GenerateFlags>();
  add_generate_flags(*app, *flags);
  app->footer(
      "Example:\n"
      "  fairlead trace generate --jobs 10000 --cluster 16xV100:8 --load 0.9 --seed 1 -o "
      "jobs.csv\n");
  return {app, [flags] { return generate_trace(*flags); }};
}

}  // namespace

std::vector<Command> add_trace(CLI::App& root) {
  CLI::App* trace = root.add_subcommand("trace", "Inspect, convert and generate traces");
  trace->require_subcommand(1);
  trace->footer(
      "Examples:\n"
      "  fairlead trace inspect philly.csv.gz                  its content\n"
      "  fairlead trace convert sacct.txt --format sacct -o jobs.csv\n"
      "  fairlead trace generate -o jobs.csv                   a random trace\n");
  return {add_inspect(*trace), add_convert(*trace), add_generate(*trace)};
}

}  // namespace fairlead
