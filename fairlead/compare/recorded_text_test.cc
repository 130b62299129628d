#include "fairlead/compare/recorded_text.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using nlohmann::json;

json summary(double wait_here_s) {
  return {{"logged",
           {{"starts", 300},
            {"kept", 298},
            {"later", 2},
            {"queue_avg_s", 2460},
            {"queue_avg_here_s", wait_here_s}}}};
}

TEST(RecordedText, SaysHowNearTheModelsOfRealSchedulersAre) {
  const ComparedPoint point{.policies = {{"as-recorded", "as-recorded", {summary(2470)}},
                                         {"slurm:bf_interval_s=10", "slurm", {summary(2342)}},
                                         {"las", "las", {summary(60)}},
                                         {"kube", "kube", {summary(1200)}}}};
  EXPECT_EQ(recorded_text({.points = {point}}),
            "\nRecorded: mean wait 41m over 300 jobs; as-recorded kept 298 of their starts, 2 came "
            "later.\n"
            "Our model of your scheduler, slurm:bf_interval_s=10: mean wait 39m 2s, recorded 41m.\n"
            "Our model of your scheduler, kube: mean wait 20m, recorded 41m.\n");
}

TEST(RecordedText, SaysNothingWhereNothingIsRecordedOrAskedFor) {
  const ComparedPoint without{.policies = {{"slurm", "slurm", {summary(1)}}}};
  const ComparedPoint unknown{.policies = {{"as-recorded", "as-recorded", {json::object()}}}};
  EXPECT_EQ(recorded_text({.points = {without, unknown}}), "");
}

}  // namespace
}  // namespace fairlead
