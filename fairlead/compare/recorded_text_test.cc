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

TEST(RecordedText, OpensWithHowNearTheModelsOfRealSchedulersAre) {
  const ComparedPoint point{.policies = {{"as-recorded", "as-recorded", {summary(2470)}},
                                         {"slurm:bf_interval_s=10", "slurm", {summary(2342)}},
                                         {"las", "las", {summary(60)}},
                                         {"kube", "kube", {summary(1200)}}}};
  EXPECT_EQ(recorded_text({.points = {point}}),
            "Our model of your scheduler, slurm:bf_interval_s=10: mean wait 39m 2s, recorded 41m.\n"
            "Our model of your scheduler, kube: mean wait 20m, recorded 41m.\n"
            "! A decision from this table rests on an inaccurate model: it waits less by 51 % than "
            "was recorded.\n"
            "Recorded: mean wait 41m over 300 jobs; as-recorded kept 298 of their starts, 2 came "
            "later.\n\n");
}

TEST(RecordedText, AModelIsInaccurateIfItIsOffByMoreThanAQuarter) {
  const auto text = [](double wait_s) {
    return recorded_text({.points = {{.policies = {{"slurm", "slurm", {summary(wait_s)}}}}}});
  };
  EXPECT_EQ(text(2460 * 1.25).find("inaccurate"), std::string::npos);
  EXPECT_NE(text(2460 * 1.26).find("longer by 26 %"), std::string::npos);
  EXPECT_NE(text(2460 * 0.74).find("less by 26 %"), std::string::npos);
}

TEST(RecordedText, AsRecordedHasNoRowIfNothingIsRecorded) {
  const ComparedPoint without{.policies = {{"fifo", "fifo", {summary(1)}}}};
  EXPECT_EQ(recorded_text({.points = {without}}), "");
  const ComparedPolicy unknown{"as-recorded", "as-recorded", {json::object()}};
  EXPECT_EQ(recorded_text({.points = {{.policies = {unknown}}}}),
            "No row for as-recorded: the trace has no recorded starts.\n\n");
  EXPECT_TRUE(has_nothing_recorded(unknown));
  EXPECT_FALSE(has_nothing_recorded({"as-recorded", "as-recorded", {summary(1)}}));
}

}  // namespace
}  // namespace fairlead
