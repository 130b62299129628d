#include "fairlead/local/submission.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Submission, IsReadAsItIsWritten) {
  const Submission written{.uid = 1000,
                           .gid = 100,
                           .command = {"python", "train.py"},
                           .environment = {"A=b"},
                           .folder = "/data",
                           .umask = 027,
                           .processes = 2,
                           .gpu_memory_mb = 40'000,
                           .memory_mb = 32'000,
                           .cpu_milli = 4500,
                           .limit = hours(2),
                           .idle_end = hours(1),
                           .retries = 3,
                           .failed = {4, 9},
                           .lost = "from 9 to 2 steps",
                           .limits = {.resources = {1, ~std::uint64_t{0}}, .nice = -3},
                           .after = {{JobId(3), JobId(5), 2, true}},
                           .is_held = true,
                           .notify = Notify::kFail};
  const auto read = parse_submission(submission_text(written));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(submission_text(*read), submission_text(written));
  EXPECT_EQ(read->limit, hours(2));
  EXPECT_EQ(read->idle_end, hours(1));
  EXPECT_EQ(read->gpu_memory_mb, 40'000U);
  EXPECT_EQ(read->memory_mb, 32'000U);
  EXPECT_EQ(read->cpu_milli, 4500U);
  EXPECT_EQ(read->failed, (std::vector<RunId>{4, 9}));
  EXPECT_EQ(read->retries_left(), 1U);
  EXPECT_EQ(read->lost, "from 9 to 2 steps");
  EXPECT_EQ(read->limits.resources, written.limits.resources);
  EXPECT_EQ(read->limits.nice, -3);
  EXPECT_EQ(read->after, written.after);
  EXPECT_TRUE(read->is_held);
  EXPECT_EQ(read->notify, Notify::kFail);
}

TEST(Submission, OneOfTheFirstVersionHasNeitherLimitNorRetries) {
  const auto read = parse_submission(
      R"({"uid":1,"gid":2,"command":["true"],"environment":[],"folder":"/","umask":18,"processes":1})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->limit, Duration());
  EXPECT_EQ(read->retries_left(), 0U);
}

TEST(Submission, WhatIsNoneIsRefused) {
  const std::string first =
      R"({"uid":1,"gid":2,"environment":[],"folder":"/","umask":18,"processes":1)";
  EXPECT_TRUE(parse_submission(first + R"(,"command":["true"]})"));
  for (const char* rest :
       {"", "}", R"(,"command":[]})", R"(,"command":[1]})", R"(,"command":["a"],"failed":["b"]})",
        R"(,"command":["a"],"retries":-1})", R"(,"command":["a"],"limit_ms":"2h"})",
        R"(,"command":["a"],"retries":1,"failed":[1,2]})", R"(,"command":["a"],"after":[[1,2,3]]})",
        R"(,"command":["a"],"notify":"often"})", R"(,"command":["a"],"after":[[3,2,0,true]]})",
        R"(,"command":["a"],"limits":[-1]})"}) {
    EXPECT_FALSE(parse_submission(first + rest)) << rest;
  }
}

}  // namespace
}  // namespace fairlead
