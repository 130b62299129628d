#include "fairlead/local/foreign_charges.h"

#include <gtest/gtest.h>

#include <optional>

namespace fairlead {
namespace {

constexpr NodeId kNode{0};

Time after_s(int s) { return Time{} + seconds(s); }

// Looks every five seconds until `to_s`, and returns the GPU-seconds charged to the user.
std::int64_t charged_s(ForeignCharges& charges, int from_s, int to_s,
                       const ForeignCharges::Found& found, const char* user) {
  GpuTime sum;
  for (int s = from_s; s <= to_s; s += 5) {
    for (const ForeignCharges::Charge& charge : charges.look(found, after_s(s))) {
      if (charge.user == user) sum += charge.attained;
    }
  }
  return static_cast<std::int64_t>(sum.gpu_ms / 1000);
}

TEST(ForeignCharges, AUserIsChargedForEachGpuByTheMinute) {
  ForeignCharges charges;
  const ForeignCharges::Found found = {{{"ann", kNode}, 0x5}, {{"bob", kNode}, 0x4}};
  EXPECT_EQ(charged_s(charges, 0, 55, found, "ann"), 0);
  EXPECT_EQ(charged_s(charges, 60, 60, found, "ann"), 120);
  EXPECT_EQ(charged_s(charges, 65, 125, found, "bob"), 60);
}

TEST(ForeignCharges, TheRestIsChargedOnceTheProcessHasLeft) {
  ForeignCharges charges;
  const ForeignCharges::Found found = {{{"ann", kNode}, 0x1}};
  EXPECT_EQ(charged_s(charges, 0, 20, {}, "ann"), 0);
  EXPECT_EQ(charged_s(charges, 25, 40, found, "ann"), 0);
  EXPECT_EQ(charged_s(charges, 45, 45, {}, "ann"), 20) << "seen at 25, 30, 35 and 40";
  EXPECT_EQ(charged_s(charges, 50, 200, {}, "ann"), 0);
}

TEST(ForeignCharges, ATimeWithoutLooksIsChargedOnlyInPart) {
  ForeignCharges charges;
  const ForeignCharges::Found found = {{{"ann", kNode}, 0x1}};
  EXPECT_EQ(charged_s(charges, 1000, 1000, found, "ann"), 0) << "the first look";
  EXPECT_EQ(charged_s(charges, 9000, 9000, found, "ann"), 60);
}

}  // namespace
}  // namespace fairlead
