#include "fairlead/pods/quotas.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <tuple>

namespace fairlead {
namespace {

class QuotasTest : public testing::Test {
 protected:
  void set(const Json& hard, const Json& used, const Json& scopes = Json::array()) {
    const Json quota = {{"spec", {{"hard", hard}, {"scopes", scopes}}},
                        {"status", {{"used", used}}}};
    quotas_.on({.kind = ReflectedChange::Kind::kAdded,
                .name = {"ann", "team"},
                .object = std::make_shared<const Json>(quota)});
  }
  std::string objection(std::uint32_t pods, const std::string& name_space = "ann",
                        const std::string& priority_class = "") const {
    return quotas_.objection({name_space, priority_class, have_deadline_, each_, pods});
  }
  // Sets a quota of no pods for those priority classes.
  void set_for_classes(const std::string& how, const Json& classes) {
    const Json rule = {{"scopeName", "PriorityClass"}, {"operator", how}, {"values", classes}};
    const Json quota = {{"spec",
                         {{"hard", {{"pods", "0"}}},
                          {"scopeSelector", {{"matchExpressions", Json::array({rule})}}}}}};
    quotas_.on({.kind = ReflectedChange::Kind::kAdded,
                .name = {"ann", "team"},
                .object = std::make_shared<const Json>(quota)});
  }
  // Returns whether it is against pods of the class.
  bool refuses(const std::string& priority_class) const {
    return !objection(1, "ann", priority_class).empty();
  }

  const Resources each_ = {{"cpu", 500}, {"nvidia.com/gpu", 8000}, {"pods", 1000}};
  bool have_deadline_ = false;
  Quotas quotas_;
};

TEST_F(QuotasTest, PodsMayTakeWhatIsLeft) {
  set({{"requests.nvidia.com/gpu", "32"}}, {{"requests.nvidia.com/gpu", "8"}});
  EXPECT_EQ(objection(3), "");
  EXPECT_EQ(objection(4),
            "ResourceQuota team leaves 24 of requests.nvidia.com/gpu, and 32 are needed");
  EXPECT_EQ(objection(4, "bob"), "");
}

TEST_F(QuotasTest, CpuAndPodsHaveTwoNames) {
  for (const std::string name : {"cpu", "requests.cpu"}) {
    set({{name, "1"}}, {{name, "0"}});
    EXPECT_EQ(objection(2), "");
    EXPECT_EQ(objection(3), "ResourceQuota team leaves 1 of " + name + ", and 1.5 are needed");
  }
  for (const std::string name : {"pods", "count/pods"}) {
    set({{name, "10"}}, {{name, "9"}});
    EXPECT_EQ(objection(2), "ResourceQuota team leaves 1 of " + name + ", and 2 are needed");
  }
}

TEST_F(QuotasTest, OtherEntriesAndScopedQuotasDoNotObject) {
  set({{"configmaps", "0"}, {"limits.cpu", "0"}}, Json::object());
  EXPECT_EQ(objection(1), "");
  set({{"pods", "0"}}, Json::object(), {"CrossNamespacePodAffinity"});
  EXPECT_EQ(objection(1), "");
}

TEST_F(QuotasTest, AQuotaMayBeForPodsWithOrWithoutADeadline) {
  for (const auto& [scope, of_others, of_those_with_a_deadline] :
       {std::tuple("Terminating", false, true),
        {"NotTerminating", true, false},
        {"BestEffort", false, false},
        {"NotBestEffort", true, true}}) {
    set({{"pods", "0"}}, Json::object(), {scope});
    have_deadline_ = false;
    EXPECT_EQ(!objection(1).empty(), of_others) << scope;
    have_deadline_ = true;
    EXPECT_EQ(!objection(1).empty(), of_those_with_a_deadline) << scope;
  }
}

TEST_F(QuotasTest, AQuotaForPriorityClassesObjectsToPodsOfThese) {
  set_for_classes("In", {"high", "urgent"});
  EXPECT_TRUE(refuses("high"));
  EXPECT_FALSE(refuses("low"));
  EXPECT_FALSE(refuses(""));
  set_for_classes("NotIn", {"high"});
  EXPECT_FALSE(refuses("high"));
  EXPECT_TRUE(refuses("low"));
  set_for_classes("DoesNotExist", Json::array());
  EXPECT_FALSE(refuses("high"));
  EXPECT_TRUE(refuses(""));
  set({{"pods", "0"}}, Json::object(), {"PriorityClass"});
  EXPECT_TRUE(refuses("high"));
  EXPECT_FALSE(refuses(""));
  set({{"pods", "0"}}, Json::object(), {"PriorityClass", "Terminating"});
  EXPECT_FALSE(refuses("high"));
}

TEST_F(QuotasTest, AQuotaThatIsGoneDoesNotObject) {
  set({{"pods", "0"}}, Json::object());
  EXPECT_NE(objection(1), "");
  quotas_.on({.kind = ReflectedChange::Kind::kDeleted, .name = {"ann", "team"}});
  EXPECT_EQ(objection(1), "");
}

}  // namespace
}  // namespace fairlead
