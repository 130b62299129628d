#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

const GpuTypeId kV100(0);

TEST(Homes, CountWhatIsWantedAndWhatIsToSpare) {
  Town town("2xV100:4", {1});
  const JobId job = town.keep(kAnn, 3, 0);
  EXPECT_EQ(town.homes.nodes()[NodeId(0)].wanted, 3U);
  EXPECT_EQ(town.homes.nodes().spare(kV100, 1), NodeId(0)) << "the tightest";
  EXPECT_EQ(town.homes.nodes().spare(kV100, 2), NodeId(1));
  EXPECT_EQ(town.homes.first_kept(kAnn, kV100), job);
  EXPECT_EQ(town.accounts.due().kept().gpus(kAnn), 3);
  town.homes.move_out(town.view(), job);
  EXPECT_FALSE(town.homes.is_kept(job));
  EXPECT_EQ(town.homes.nodes().spare(kV100, 4), NodeId(0));
  EXPECT_EQ(town.accounts.due().kept().gpus(kAnn), 0);
}

TEST(Homes, ANodeIsContendedOnceItsJobsWantMoreThanItHas) {
  Town town("2xV100:4", {1});
  town.keep(kAnn, 4, 0);
  EXPECT_FALSE(town.homes.is_contended());
  const JobId second = town.keep(kAnn, 1, 0);
  ASSERT_EQ(town.homes.nodes().contended().size(), 1U);
  EXPECT_EQ(town.homes.nodes().contended()[0], NodeId(0));
  town.homes.move_out(town.view(), second);
  EXPECT_FALSE(town.homes.is_contended());
}

TEST(Homes, AllBeginAlikeAtTheClockWhenTurnsBegin) {
  Town town("1xV100:4", {1});
  const JobId first = town.keep(kAnn, 4, 0);
  town.run(first);
  town.wait(seconds(600));
  const JobId second = town.keep(kAnn, 1, 0);
  EXPECT_EQ(town.client(first).pass, 10);
  EXPECT_EQ(town.client(second).pass, 10);
  town.homes.charge();
  EXPECT_EQ(town.client(first).pass, 10) << "it owes nothing for the time before";
}

TEST(Homes, WhoRunsPaysItsGangPerTicketForEachQuantum) {
  Town town("1xV100:4", {1, 1});
  const JobId runner = town.keep(kAnn, 4, 0);
  const JobId waiter = town.keep(kBen, 4, 0);
  town.update();
  ASSERT_EQ(town.client(runner).tickets, 2);
  town.run(runner);
  town.wait(seconds(90));
  town.homes.charge();
  EXPECT_EQ(town.client(runner).pass, 1.5 * 4 / 2);
  EXPECT_EQ(town.client(waiter).pass, 0);
  EXPECT_EQ(town.homes.quanta_since(waiter), 1.5);
  town.homes.charge();
  EXPECT_EQ(town.client(runner).pass, 3) << "once";
}

TEST(Homes, ANewcomerBeginsAtTheMeanPass) {
  Town town("1xV100:4", {1, 1});
  const JobId ahead = town.keep(kAnn, 4, 0);
  town.keep(kBen, 4, 0);
  town.update();
  town.homes.queue(NodeId(0))[0].pass += 6;
  ASSERT_EQ(town.client(ahead).pass, 6);
  EXPECT_EQ(town.client(town.keep(kBen, 1, 0)).pass, 3);
}

TEST(Homes, AJobThatMovesKeepsWhatItIsAheadAndHowLongItWaited) {
  Town town("2xV100:4", {1, 1});
  for (int i = 0; i < 3; ++i) town.keep(kBen, 4, 1);
  const JobId job = town.keep(kAnn, 4, 0);
  town.keep(kAnn, 4, 0);
  town.update();
  town.homes.queue(NodeId(0))[0].pass = 5;
  for (StrideClient& client : town.homes.queue(NodeId(1))) client.pass = 100;
  town.wait(seconds(60));
  town.homes.move(town.view(), job, {.node = NodeId(1)});
  EXPECT_EQ(town.node_of(job), NodeId(1));
  EXPECT_DOUBLE_EQ(town.client(job).pass, 105);
  EXPECT_EQ(town.homes.quanta_since(job), 1);
}

TEST(Homes, ASpreadJobCountsOnEachOfItsNodes) {
  Town town("2xV100:4", {1, 1});
  const JobId large = town.spread(kAnn, {{NodeId(0), 4}, {NodeId(1), 2}});
  EXPECT_TRUE(town.homes.spreads().wait());
  EXPECT_EQ(town.homes.nodes()[NodeId(0)].wanted, 4U);
  EXPECT_EQ(town.homes.nodes()[NodeId(1)].wanted, 2U);
  town.keep(kBen, 8, 0);
  town.update();
  // Four of the eight GPUs each: the gang of six is due two thirds of the time.
  EXPECT_DOUBLE_EQ(town.homes.spread_time(NodeId(1)), 4.0 / 6);
  EXPECT_EQ(town.homes.spread(large).need_on(NodeId(1)).gpus, 2U);
  town.run(large);
  EXPECT_FALSE(town.homes.spreads().wait());
}

TEST(Homes, ASpreadJobThatLeavesLeavesTheOthersInTheirRows) {
  Town town("3xV100:4", {1});
  const JobId first = town.spread(kAnn, {{NodeId(0), 4}, {NodeId(1), 4}});
  const JobId last = town.spread(kAnn, {{NodeId(1), 4}, {NodeId(2), 4}});
  town.homes.move_out(town.view(), first);
  EXPECT_EQ(town.homes.spread(last).client.job, last);
  EXPECT_EQ(town.homes.nodes()[NodeId(0)].wanted, 0U);
  EXPECT_FALSE(town.homes.nodes()[NodeId(1)].is_contended);
  town.run(last);
  EXPECT_FALSE(town.homes.spreads().wait());
}

TEST(Homes, SayWhichNodesWereTouched) {
  Town town("3xV100:4", {1});
  const JobId job = town.keep(kAnn, 1, 2);
  town.keep(kAnn, 1, 2);
  ASSERT_EQ(town.homes.nodes().touched().size(), 1U);
  town.homes.forget_touched();
  EXPECT_TRUE(town.homes.nodes().touched().empty());
  town.homes.move(town.view(), job, {.node = NodeId(0)});
  EXPECT_EQ(town.homes.nodes().touched().size(), 2U);
}

// The state of homes that is visible to a test.
std::vector<double> figures_of(const Town& town, const Homes& homes) {
  std::vector<double> figures;
  for (JobId job : ids<JobId>(town.jobs.size())) {
    const Homes::Residence& home = homes.of(job);
    for (std::uint32_t row : {home.node.row(), home.type.row(), home.spread})
      figures.push_back(row);
    figures.insert(figures.end(), {home.runs ? 1.0 : 0.0, static_cast<double>(home.since.ms)});
  }
  for (NodeId node : ids<NodeId>(homes.nodes().size())) {
    figures.insert(figures.end(),
                   {homes.nodes()[node].load, homes.spread_time(node),
                    homes.tiling(node).unserved(), mean_pass(homes.nodes()[node].queue)});
  }
  for (NodeId node : homes.nodes().contended()) figures.push_back(node.row());
  figures.push_back(homes.nodes().spare(kV100, 1).row());
  figures.push_back(homes.spreads().wait() ? 1 : 0);
  return figures;
}

TEST(Homes, AreSavedAndLoaded) {
  Town town("4xV100:4", {1, 2});
  for (std::size_t i = 0; i < 6; ++i) town.keep(UserId(i % 2), 2, i % 3);
  town.spread(kBen, {{NodeId(0), 4}, {NodeId(2), 2}});
  town.spread(kAnn, {{NodeId(1), 4}, {NodeId(2), 4}});
  town.run(JobId(0));
  town.wait(seconds(30));
  town.update();
  town.homes.charge();
  Writer writer;
  save(town.homes, writer);
  Homes loaded({.quantum = Town::kQuantum, .node_jobs_per_gpu_max = 8}, town.accounts);
  Reader reader(writer.bytes());
  load(loaded, reader);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.left(), 0U);
  loaded.begin(town.view(), town.plan);
  EXPECT_EQ(figures_of(town, loaded), figures_of(town, town.homes));
}

TEST(Homes, LeaveTheAccountsAsTheyWereWhenTheyAreLoaded) {
  Town town("4xV100:4", {1, 2});
  town.keep(kAnn, 2, 0);
  town.update();
  const auto bytes_of = [](auto& saved) {
    Writer writer;
    save(saved, writer);
    return std::vector<std::uint8_t>(writer.bytes().begin(), writer.bytes().end());
  };
  const auto accounts = bytes_of(town.accounts);
  const auto homes = bytes_of(town.homes);
  Homes loaded({.quantum = Town::kQuantum, .node_jobs_per_gpu_max = 8}, town.accounts);
  Reader reader(homes);
  load(loaded, reader);
  loaded.begin(town.view(), town.plan);
  EXPECT_EQ(bytes_of(town.accounts), accounts);
}

TEST(Homes, RefuseDamagedBytes) {
  Town town("2xV100:4", {1});
  town.keep(kAnn, 2, 0);
  town.spread(kAnn, {{NodeId(0), 4}, {NodeId(1), 2}});
  Writer writer;
  save(town.homes, writer);
  for (std::size_t size = 0; size < writer.bytes().size(); ++size) {
    Reader reader({writer.bytes().data(), size});
    load(Homes({.quantum = Town::kQuantum, .node_jobs_per_gpu_max = 8}, town.accounts), reader);
    EXPECT_FALSE(reader.ok()) << size << " of " << writer.bytes().size() << " bytes";
  }
}

}  // namespace
}  // namespace fairlead
