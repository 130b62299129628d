#include "fairlead/policy/gandiva_fair/move.h"

#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(CoolDown, IsSavedAndLoaded) {
  Town town("1xV100:4", {1});
  CoolDown cool_down(seconds(600));
  cool_down.on_move(JobId(3), {1000});
  cool_down.on_move(JobId(5), {1000});
  cool_down.forget(JobId(5));
  Writer writer;
  save(cool_down, writer);
  CoolDown loaded(seconds(600));
  Reader reader(writer.bytes());
  load(loaded, reader);
  EXPECT_TRUE(reader.ok());
  town.now = {2000};
  for (const std::size_t job : {0U, 5U, 9U}) {
    EXPECT_TRUE(loaded.may_move(town.view(), JobId(job))) << job;
  }
  town.now = {600'999};
  EXPECT_FALSE(loaded.may_move(town.view(), JobId(3)));
  town.now = {601'000};
  EXPECT_TRUE(loaded.may_move(town.view(), JobId(3)));
}

TEST(CoolDown, APinnedJobNeverMoves) {
  Town town("1xV100:4", {1});
  const CoolDown cool_down(seconds(600));
  const JobId job = town.keep(UserId(0), 1, 0);
  town.jobs.cannot_move.grow_to(job) = 1;
  EXPECT_TRUE(cool_down.may_move(town.view(), job)) << "it never ran, so it has nothing to lose";
  town.has_run(job);
  EXPECT_FALSE(cool_down.may_move(town.view(), job));
}

}  // namespace
}  // namespace fairlead
