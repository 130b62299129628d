#include "fairlead/cli/run_flags.h"

#include "fairlead/cli/run_file.h"

#include <fmt/format.h>

namespace fairlead {

void add_run_flags(CLI::App& app, RunFlags& flags) {
  app.add_option("--cluster", flags.cluster,
                 "a preset (fairlead clusters), a shorthand (12xV100:4 is 12 nodes of 4 V100) or a "
                 "file")
      ->required()
      ->type_name("FILE|NAME|SHORTHAND");
  app.add_option("--trace", flags.trace,
                 "the jobs; may be compressed with gzip or zstd; - is standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--format", flags.format,
                 fmt::format("format of the trace (default: detected from its content): {}",
                             format_names()))
      ->type_name("FORMAT");
  app.add_option("--out", flags.out, "folder of the result files, created if missing")
      ->required()
      ->type_name("DIR");
  app.add_option("--seed", flags.seed, "seed of all random draws (default: 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
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
  app.add_flag("--audit", flags.audit,
               "check the journal independently of the engine; fail if it is inconsistent");
  app.add_flag("--json", flags.json, "print JSON instead of a table");
  add_run_file_flags(app);
}

}  // namespace fairlead
