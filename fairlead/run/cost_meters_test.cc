#include "fairlead/run/cost_meters.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/run/simulation.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// An hour of two H100 for ann, and two hours of an A100 for bob.
Result<Summary> summary_with(const std::vector<std::string>& settings) {
  static const JobRow kJobs[] = {
      {.id = "a", .user = "ann", .gpus = 2, .duration = hours(1), .runs_on = "H100"},
      {.id = "b", .user = "bob", .gpus = 1, .duration = hours(2), .runs_on = "A100"}};
  SimulationInputs inputs{.cluster = load_cluster("1xH100:2,1xA100:1").value(),
                          .trace = Trace::of("test", kJobs).value(),
                          .settings = parse_settings(settings).value()};
  inputs.settings.costs = Costs::none();
  EXPECT_TRUE(inputs.use_policy("fifo"));
  FL_TRY_ASSIGN(simulation, Simulation::make(std::move(inputs)));
  FL_TRY(simulation.run());
  return simulation.summary();
}

TEST(CostMeters, AreOffWithoutTheirSettings) {
  const Summary summary = summary_with({}).value();
  EXPECT_EQ(summary.cost, CostSummary());
  EXPECT_EQ(summary.users.front().energy_kwh, std::nullopt);
  EXPECT_EQ(summary.users.front().cost, std::nullopt);
}

TEST(CostMeters, PriceTheGpusOfJobsAndIdleOnes) {
  const Summary summary = summary_with({"prices=h100:3,A100:0.5"}).value();
  EXPECT_DOUBLE_EQ(summary.cost.jobs.value(), 2 * 3 + 2 * 0.5);
  EXPECT_DOUBLE_EQ(summary.cost.idle.value(), 2 * 3) << "two H100 for an hour";
  EXPECT_DOUBLE_EQ(summary.users.at(0).cost.value(), 6);
  EXPECT_DOUBLE_EQ(summary.users.at(1).cost.value(), 1);
  EXPECT_EQ(summary.cost.energy_jobs_kwh, std::nullopt);
}

TEST(CostMeters, TakeThePublishedPowerOrTheGivenOne) {
  const Summary published = summary_with({"power=published"}).value();
  EXPECT_DOUBLE_EQ(published.cost.energy_jobs_kwh.value(), 2 * 0.7 + 2 * 0.4);
  EXPECT_EQ(published.cost.energy_idle_kwh, std::nullopt) << "no power of an idle A100 is known";
  const Summary given = summary_with({"power=published,A100:300/50"}).value();
  EXPECT_DOUBLE_EQ(given.cost.energy_jobs_kwh.value(), 2 * 0.7 + 2 * 0.3);
  EXPECT_DOUBLE_EQ(given.cost.energy_idle_kwh.value(), 2 * 0.0718);
  EXPECT_DOUBLE_EQ(given.users.at(1).energy_kwh.value(), 0.6);
}

TEST(CostMeters, NameATypeWithoutAFigure) {
  EXPECT_EQ(summary_with({"prices=H100:3"}).error().message,
            "--set prices has no price of this GPU type: A100");
  EXPECT_EQ(summary_with({"power=H100:700"}).error().message,
            "--set power has no power of this GPU type; add A100:WATTS to it: A100");
}

}  // namespace
}  // namespace fairlead
