// Tests the policy as a whole; tests/property/gandiva_fair_test.cc has the rest.
#include "fairlead/policy/gandiva_fair/gandiva_fair.h"

#include "testing/world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

GandivaFair made() { return GandivaFair(gandiva_fair_options(options_named("gandiva-fair"))); }

TEST(GandivaFair, RefusesWhatAVersionBeforeThisSaved) {
  Writer writer;
  save(made(), writer);
  Reader reader(writer.bytes());
  load(made(), reader);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.left(), 0U);
  Writer older;
  older.u64(2);  // GPU types
  Reader of_older(older.bytes());
  load(made(), of_older);
  EXPECT_FALSE(of_older.ok());
}

}  // namespace
}  // namespace fairlead
