#include "fairlead/trace/convert.h"

#include "fairlead/trace/testing.h"
#include "fairlead/trace/trace.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace fairlead {
namespace {

using testing::jobs_of;
using testing::read_text;

std::string native_text(const Workload& workload) {
  std::string text;
  write_native(workload, [&](std::string_view piece) { text += piece; });
  return text;
}

void expect_equal(const Workload& a, const Workload& b) {
  EXPECT_EQ(jobs_of(a), jobs_of(b));
  EXPECT_EQ(a.users.names, b.users.names);
  EXPECT_EQ(a.users.tickets, b.users.tickets);
  EXPECT_EQ(a.models, b.models);
  EXPECT_EQ(a.jobs.user, b.jobs.user);
  EXPECT_EQ(a.jobs.model, b.jobs.model);
}

TEST(WriteNative, WritesOnlyTheColumnsItNeeds) {
  const auto plain = read_text("job,gpus,submit_s,duration_s\na,2,0.5,10\nb,1,0,0.0001\n", {});
  EXPECT_EQ(native_text(*plain),
            "job,user,model,gpus,submit_s,duration_s\n"
            "a,default,,2,0.5,10\n"
            "b,default,,1,0,0.001\n");
}

TEST(WriteNative, ReadsBackEqual) {
  for (const char* name : {"native.csv", "normalized.csv", "tiresias.csv", "gavel.tsv",
                           "philly.json", "helios.csv", "pai.csv", "sacct.txt", "swf.swf"}) {
    const auto workload = read_trace(std::string("tests/data/traces/") + name, {});
    ASSERT_TRUE(workload.has_value()) << name;
    const auto again = read_text(native_text(*workload), {});
    ASSERT_TRUE(again.has_value()) << name << ": " << again.error().message;
    expect_equal(*workload, *again);
  }
}

TEST(WriteNative, WritesAFile) {
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("fairlead-convert-test-{}.csv", ::getpid());
  const auto workload = read_trace("tests/data/traces/native.csv", {});
  EXPECT_TRUE(write_native(*workload, path).has_value());
  const auto again = read_trace(path, {});
  std::filesystem::remove(path);
  ASSERT_TRUE(again.has_value());
  expect_equal(*workload, *again);
  EXPECT_EQ(write_native(*workload, "no/such/folder.csv").error().kind, Error::Kind::kRun);
}

RC_GTEST_PROP(WriteNative, AnyWorkloadReadsBackEqual, ()) {
  const auto name = rc::gen::nonEmpty(rc::gen::container<std::string>(
      rc::gen::element('a', 'b', ',', '"', '\n', '\r', ' ', '\t', '#', '\0')));
  WorkloadBuilder builder("w", Reading::kLenient);
  const int jobs = *rc::gen::inRange(0, 20);
  for (int i = 0; i < jobs; ++i) {
    const std::string id = *name, user = *name, model = *name, type = *name;
    const auto gpus = *rc::gen::inRange<std::int64_t>(1, kJobGpusMax + 1);
    const JobRow row = {.id = id,
                        .user = user,
                        .model = model,
                        .gpus = gpus,
                        .gpus_min = *rc::gen::inRange<std::int64_t>(1, gpus + 1),
                        .gpus_max = *rc::gen::inRange<std::int64_t>(gpus, kJobGpusMax + 1),
                        .submit = {*rc::gen::inRange<std::int64_t>(0, kMsMax)},
                        .duration = {*rc::gen::inRange<std::int64_t>(1, kMsMax)},
                        .gpu_type = type,
                        .tickets = *rc::gen::inRange<std::int64_t>(0, 4)};
    RC_ASSERT(builder.add(row, "f").has_value());
  }
  const Workload workload = builder.finish();
  const auto again = read_text(native_text(workload), {});
  RC_ASSERT(again.has_value());
  expect_equal(workload, *again);
  RC_ASSERT(!::testing::Test::HasFailure());
}

}  // namespace
}  // namespace fairlead
