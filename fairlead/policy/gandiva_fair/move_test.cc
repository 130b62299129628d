#include "fairlead/policy/gandiva_fair/move.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(CoolDown, IsSavedAndLoaded) {
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
  EXPECT_TRUE(loaded.may_move(JobId(0), {2000}));
  EXPECT_FALSE(loaded.may_move(JobId(3), {600'999}));
  EXPECT_TRUE(loaded.may_move(JobId(3), {601'000}));
  EXPECT_TRUE(loaded.may_move(JobId(5), {2000}));
  EXPECT_TRUE(loaded.may_move(JobId(9), {2000}));
}

}  // namespace
}  // namespace fairlead
