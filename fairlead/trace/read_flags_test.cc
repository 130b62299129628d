#include "fairlead/trace/read_flags.h"

#include "fairlead/trace/readers/readers.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

std::string error_of(const ReadFlags& flags) {
  const auto options = read_options(flags);
  return options ? "" : options.error().message;
}

TEST(ReadFlags, NoneAreTheDefaults) {
  const auto options = read_options({});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->format, nullptr);
  EXPECT_EQ(options->table, TableOptions());
  EXPECT_EQ(options->selection, Selection());
  EXPECT_TRUE(arguments_of({}).empty());
}

TEST(ReadFlags, AreUnderstood) {
  const auto options = read_options({.columns = "job=Job ID, gpus = NGPUs",
                                     .unit = "ms",
                                     .delimiter = "tab",
                                     .decimal = "comma",
                                     .dates = "mdy",
                                     .from = "2026-01-31",
                                     .to = "2h",
                                     .users = "ann, bob",
                                     .sample = "0.25",
                                     .where = {"State=DONE", "Queue != debug"}});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->format, &kTableFormat);
  EXPECT_EQ(options->table.columns.at("job"), "Job ID");
  EXPECT_EQ(options->table.columns.at("gpus"), "NGPUs");
  EXPECT_EQ(options->table.unit, Duration{1});
  EXPECT_EQ(options->table.separator, '\t');
  EXPECT_EQ(options->table.decimals, Decimals::kComma);
  EXPECT_EQ(options->table.dates, DayOrder::kMonthFirst);
  EXPECT_EQ(options->selection.from, (TraceTime{{1'769'817'600'000}, true}));
  EXPECT_EQ(options->selection.to, (TraceTime{{7'200'000}, false}));
  EXPECT_EQ(options->selection.users, (std::vector<std::string>{"ann", "bob"}));
  EXPECT_EQ(options->selection.sample, 0.25);
  ASSERT_EQ(options->where.size(), 2U);
  EXPECT_EQ(options->where[1].column, "Queue");
  EXPECT_EQ(options->where[1].value, "debug");
  EXPECT_FALSE(options->where[1].equal);
}

TEST(ReadFlags, ErrorsNameTheFlagAndWhatItTakes) {
  EXPECT_EQ(error_of({.columns = "job"}), "--columns takes FIELD=COLUMN,...: job");
  EXPECT_EQ(
      error_of({.columns = "gpu=N"}),
      "--columns: no such field (there are: "
      "job|user|model|gpus|submit|start|end|duration|gpu_type|state|tickets|time_limit|priority|"
      "partition|cpus|memory_gb): gpu");
  EXPECT_EQ(error_of({.unit = "days"}), "--unit takes one of s ms min h: days");
  EXPECT_EQ(error_of({.dates = "ymd"}), "--dates takes one of dmy mdy: ymd");
  EXPECT_EQ(error_of({.decimal = "dot"}), "--decimal takes one of point comma: dot");
  EXPECT_EQ(error_of({.sample = "0"}), "--sample takes a part of all jobs, above 0 and up to 1: 0");
  EXPECT_EQ(error_of({.where = {"state"}}), "--where takes COLUMN=VALUE or COLUMN!=VALUE: state");
  EXPECT_EQ(
      error_of({.from = "noon"}),
      "--from must be seconds, a length of time or a date, such as 3600, 2h or 2026-01-31: noon");
  EXPECT_EQ(error_of({.format = "sacct", .unit = "ms"}),
            "--columns, --unit, --delimiter, --decimal and --dates go with --format table: sacct");
  EXPECT_EQ(error_of({.delimiter = "x"}), "--delimiter takes one of , ; | tab: x");
}

TEST(ReadFlags, GoOnToTheRunsOfAComparison) {
  const ReadFlags flags = {.columns = "job=Job ID", .users = "ann", .where = {"a=b", "c!=d"}};
  EXPECT_EQ(arguments_of(flags), (std::vector<std::string>{"--columns=job=Job ID", "--users=ann",
                                                           "--where=a=b", "--where=c!=d"}));
}

}  // namespace
}  // namespace fairlead
