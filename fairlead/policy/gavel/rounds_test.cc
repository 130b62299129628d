#include "fairlead/policy/gavel/rounds.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace fairlead {
namespace {

constexpr double kRoundSeconds = 360;
constexpr double kHeadStart = kRoundSeconds / 2;

// Books that own their tables. A row of a table is one job, a column one type.
struct Ledger {
  std::size_t types;
  std::vector<std::uint32_t> gangs{};
  std::vector<double> throughputs{};
  std::vector<double> shares{};
  std::vector<double> received_s{};
  std::vector<double> deficits_s{};
  std::vector<double> handed_out_s = std::vector<double>(types);
  RoundSelection selection{};

  // A job that runs equally well everywhere and has received its head start only.
  void add(std::uint32_t gang, const std::vector<double>& share) {
    gangs.push_back(gang);
    shares.insert(shares.end(), share.begin(), share.end());
    throughputs.resize(shares.size(), 1);
    received_s.resize(shares.size(), kHeadStart);
    deficits_s.resize(shares.size(), 0);
    for (double& seconds : handed_out_s) seconds += kHeadStart;
  }
  RoundBooks books() {
    return {types, gangs, throughputs, shares, received_s, deficits_s, handed_out_s};
  }
  std::vector<RoundPick> select(const std::vector<std::uint32_t>& gpus,
                                const std::vector<std::uint32_t>& type_order,
                                bool fill_idle = true) {
    const auto picks = selection.select(books(), gpus, type_order, fill_idle);
    return {picks.begin(), picks.end()};
  }
  // Returns the rows that run on one type, in order.
  std::vector<std::uint32_t> rows(std::uint32_t gpus, bool fill_idle = true) {
    std::vector<std::uint32_t> chosen;
    for (const RoundPick& pick : select({gpus}, {0}, fill_idle)) chosen.push_back(pick.row);
    return chosen;
  }
  // One whole round.
  std::vector<RoundPick> run(const std::vector<std::uint32_t>& gpus,
                             const std::vector<std::uint32_t>& type_order) {
    std::vector<RoundPick> picks = select(gpus, type_order);
    for (const RoundPick& pick : picks) {
      received_s[pick.row * types + pick.type] += kRoundSeconds;
      handed_out_s[pick.type] += kRoundSeconds;
    }
    return picks;
  }
};

using Rows = std::vector<std::uint32_t>;
using Picks = std::vector<RoundPick>;

TEST(RoundPriority, IsTheShareOverTheFractionReceived) {
  EXPECT_EQ(round_priority(0.5, 1, 100, 400), 2);
  EXPECT_EQ(round_priority(0.25, 1, 400, 400), 0.25);
}

TEST(RoundPriority, OfAJobThatReceivedNothingIsABillionShares) {
  EXPECT_EQ(round_priority(0.5, 1, 0, 400), 5e8);
  EXPECT_EQ(round_priority(0.5, 1, 100, 0), 5e8);  // a type that was never handed out
}

TEST(RoundPriority, IsNothingWithoutAShareOrWhereTheJobCannotRun) {
  EXPECT_EQ(round_priority(0, 1, 0, 400), 0);
  EXPECT_EQ(round_priority(0.5, 0, 0, 400), 0);
}

TEST(Settle, AddsWhatWasDueAndNotReceived) {
  Ledger ledger{.types = 2};
  ledger.add(1, {0.75, 0});
  ledger.add(1, {0.25, 1});
  ledger.received_s = {540, 180, 180, 900};  // with head starts of 180
  settle(ledger.books(), 1000, kHeadStart);
  EXPECT_EQ(ledger.deficits_s, (std::vector<double>{390, 0, 250, 280}));
  EXPECT_EQ(ledger.received_s, std::vector<double>(4, kHeadStart));
  EXPECT_EQ(ledger.handed_out_s, std::vector<double>(2, 2 * kHeadStart));

  settle(ledger.books(), 100, kHeadStart);  // no job ran: the deficits grow by the due time
  EXPECT_EQ(ledger.deficits_s, (std::vector<double>{465, 0, 275, 380}));
}

TEST(RoundSelection, TakesFirstWhoReceivedLeastOfWhatItIsDue) {
  Ledger ledger{.types = 1};
  ledger.add(1, {0.5});
  ledger.add(1, {0.3});
  ledger.add(1, {0.2});
  ledger.received_s = {900, 300, 180};  // priorities in the ratio 5/9, 1, 10/9
  ledger.handed_out_s = {1380};
  EXPECT_EQ(ledger.rows(1), Rows{2});
  EXPECT_EQ(ledger.rows(2), (Rows{2, 1}));
}

TEST(RoundSelection, GivesEachJobItsShareOfTheRounds) {
  Ledger ledger{.types = 1};
  for (const double share : {0.5, 0.3, 0.2}) ledger.add(1, {share});
  std::vector<int> rounds(3);
  for (int i = 0; i < 100; ++i) {
    for (const RoundPick& pick : ledger.run({1}, {0})) ++rounds[pick.row];
  }
  EXPECT_NEAR(rounds[0], 50, 1);
  EXPECT_NEAR(rounds[1], 30, 1);
  EXPECT_NEAR(rounds[2], 20, 1);
}

TEST(RoundSelection, SkipsWhoDoesNotFitAndGoesOn) {
  Ledger ledger{.types = 1};
  ledger.add(2, {0.9});
  ledger.add(4, {0.8});
  ledger.add(1, {0.7});
  ledger.add(1, {0.6});
  EXPECT_EQ(ledger.rows(4), (Rows{0, 2, 3}));
  EXPECT_EQ(ledger.rows(3), (Rows{0, 2}));
  EXPECT_EQ(ledger.rows(7), (Rows{0, 1, 2}));
}

TEST(RoundSelection, RunsAJobOnOneTypeTheFirstThatTakesIt) {
  Ledger ledger{.types = 2};
  ledger.add(1, {0.5, 0.9});
  ledger.add(1, {0.4, 0.1});
  EXPECT_EQ(ledger.select({1, 1}, {0, 1}), (Picks{{0, 0}, {1, 1}}));
  EXPECT_EQ(ledger.select({1, 1}, {1, 0}), (Picks{{0, 1}, {1, 0}}));
  EXPECT_EQ(ledger.select({1, 1}, {1}), (Picks{{0, 1}}));  // a type left out is not used
}

TEST(RoundSelection, SettlesEqualPrioritiesByDeficitThenShareThenRow) {
  Ledger ledger{.types = 1};
  for (int i = 0; i < 4; ++i) ledger.add(1, {0.25});
  EXPECT_EQ(ledger.rows(2), (Rows{0, 1}));

  // Twice the share and twice the time received: the same priority.
  ledger.shares[2] = 0.5;
  ledger.received_s[2] = 2 * kHeadStart;
  EXPECT_EQ(ledger.rows(2), (Rows{2, 0}));

  ledger.deficits_s = {0, 0, 0, 10};
  EXPECT_EQ(ledger.rows(3), (Rows{3, 2, 0}));
  ledger.deficits_s = {0, -10, -20, 10};
  EXPECT_EQ(ledger.rows(4), (Rows{3, 0, 1, 2}));
}

TEST(RoundSelection, LetsANewcomerWithoutAnAllocationFillIdleGpusOnly) {
  Ledger ledger{.types = 1};
  ledger.add(1, {0});
  ledger.add(1, {0.1});
  EXPECT_EQ(ledger.rows(1), Rows{1});
  EXPECT_EQ(ledger.rows(2), (Rows{1, 0}));
  EXPECT_EQ(ledger.rows(2, false), Rows{1});
}

TEST(RoundSelection, NeverRunsAJobWhereItsThroughputIsZero) {
  Ledger ledger{.types = 2};
  ledger.add(1, {1, 0});
  ledger.throughputs = {0, 2};
  EXPECT_EQ(ledger.select({1, 1}, {0, 1}), (Picks{{0, 1}}));
  ledger.throughputs = {0, 0};
  EXPECT_EQ(ledger.select({1, 1}, {0, 1}), Picks{});
}

TEST(RoundSelection, OfNoJobsOrNoGpusIsEmpty) {
  Ledger ledger{.types = 1};
  EXPECT_EQ(ledger.rows(4), Rows{});
  ledger.add(1, {1});
  EXPECT_EQ(ledger.rows(0), Rows{});
}

RC_GTEST_PROP(RoundSelection, FillsEveryTypeWithoutOvercommittingIt, ()) {
  const auto types = *rc::gen::inRange<std::size_t>(1, 4);
  Ledger ledger{.types = types};
  const int jobs = *rc::gen::inRange(0, 12);
  for (int job = 0; job < jobs; ++job) {
    std::vector<double> share;
    for (std::size_t type = 0; type < types; ++type) {
      share.push_back(*rc::gen::inRange(0, 4) / 4.0);
    }
    ledger.add(*rc::gen::inRange(1U, 9U), share);
  }
  for (double& throughput : ledger.throughputs) throughput = *rc::gen::inRange(0, 3);
  std::vector<std::uint32_t> gpus;
  for (std::size_t type = 0; type < types; ++type) gpus.push_back(*rc::gen::inRange(0U, 17U));
  std::vector<std::uint32_t> type_order(types);
  std::iota(type_order.begin(), type_order.end(), 0);

  for (int round = 0; round < 3; ++round) {
    std::vector<std::uint32_t> left = gpus;
    std::vector<bool> runs(ledger.gangs.size());
    for (const RoundPick& pick : ledger.run(gpus, type_order)) {
      RC_ASSERT(!runs[pick.row]);
      RC_ASSERT(ledger.gangs[pick.row] <= left[pick.type]);
      RC_ASSERT(ledger.throughputs[pick.row * types + pick.type] > 0);
      runs[pick.row] = true;
      left[pick.type] -= ledger.gangs[pick.row];
    }
    for (std::size_t row = 0; row < runs.size(); ++row) {
      for (std::size_t type = 0; type < types && !runs[row]; ++type) {
        RC_ASSERT(ledger.throughputs[row * types + type] <= 0 || ledger.gangs[row] > left[type]);
      }
    }
  }
}

}  // namespace
}  // namespace fairlead
