#include "fairlead/cli/run_flags.h"

#include <fmt/format.h>

namespace fairlead {

void add_run_flags(CLI::App& app, RunFlags& flags) {
  app.add_option("--cluster", flags.cluster,
                 "preset (fairlead clusters), shorthand (12xV100:4 is 12 nodes of 4 V100) or file")
      ->required()
      ->type_name("FILE|NAME|SHORTHAND");
  app.add_option("--trace", flags.trace, "jobs; gzip and zstd are undone, - is standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--format", flags.format,
                 fmt::format("format of the trace, else told by its content: {}", format_names()))
      ->type_name("FORMAT");
  app.add_option("--out", flags.out, "folder of the result files, created where missing")
      ->required()
      ->type_name("DIR");
  app.add_option("--seed", flags.seed, "of everything random (default: 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  app.add_option("--until", flags.until, "stop the clock there; what is unfinished is pending")
      ->type_name("SECONDS");
  app.add_option("--set", flags.settings, "a setting of the run, see below; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--audit", flags.audit, "check the journal independently; fail if it is wrong");
  app.add_flag("--json", flags.json, "print JSON instead of a table");
}

}  // namespace fairlead
