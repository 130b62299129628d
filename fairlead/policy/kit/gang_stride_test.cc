#include "fairlead/policy/kit/gang_stride.h"

#include "fairlead/base/rng.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace fairlead {
namespace {

enum class Cap { kNo, kYes };

// One pool, quantum after quantum. Clients are named A, B, ... by JobId.
struct Pool {
  std::uint32_t gpus;
  Cap cap = Cap::kNo;
  std::vector<StrideClient> queue{};
  std::int64_t idle = 0;                    // GPU-quanta
  std::map<char, std::int64_t> received{};  // GPU-quanta

  void add(char name, std::uint32_t size, double tickets = 1, double pass = 0) {
    queue.push_back({.pass = pass,
                     .tickets = tickets,
                     .gpus = size,
                     .order = static_cast<std::uint32_t>(received.size()),
                     .job = JobId(static_cast<std::size_t>(name - 'A'))});
    received[name] = 0;
  }
  static char name(const StrideClient& client) {
    return static_cast<char>('A' + static_cast<char>(client.job.row()));
  }
  const StrideClient& client(char wanted) const {
    return *std::ranges::find_if(queue, [&](const auto& each) { return name(each) == wanted; });
  }
  // Returns the names of the chosen clients, in alphabetical order.
  std::string quantum() {
    idle += gang_stride(queue, gpus);
    std::string run;
    for (StrideClient& each : queue) {
      if (!each.chosen) continue;
      run += name(each);
      received[name(each)] += each.gpus;
      charge(each, 1);
    }
    if (cap == Cap::kYes) cap_passes(queue, gpus);
    std::ranges::sort(run);
    return run;
  }
  void quanta(int count) {
    for (int i = 0; i < count; ++i) quantum();
  }
  std::vector<double> passes(const std::string& names) const {
    std::vector<double> all;
    for (char each : names) all.push_back(client(each).pass);
    return all;
  }
  double idle_part(int of_quanta) const {
    return static_cast<double>(idle) / (static_cast<double>(gpus) * of_quanta);
  }
};

using Passes = std::vector<double>;

TEST(GangStride, PlainStrideIsThatOfTheSlides) {
  Pool pool{.gpus = 1};
  pool.add('B', 1, 1);
  pool.add('A', 1, 4);
  const std::pair<std::string, Passes> expected[] = {
      {"B", {0, 0}}, {"A", {0, 1}}, {"A", {0.25, 1}}, {"A", {0.5, 1}}, {"A", {0.75, 1}},
      {"B", {1, 1}}, {"A", {1, 2}}, {"A", {1.25, 2}}, {"A", {1.5, 2}},
  };
  for (const auto& [run, passes] : expected) {
    EXPECT_EQ(pool.passes("AB"), passes);
    EXPECT_EQ(pool.quantum(), run);
  }
}

TEST(GangStride, GangAwareStrideIsThatOfTheSlides) {
  Pool pool{.gpus = 4};
  pool.add('E', 4);
  pool.add('A', 1);
  pool.add('B', 1);
  pool.add('C', 2);
  pool.add('D', 2);
  const std::pair<std::string, Passes> expected[] = {
      {"E", {0, 0, 0, 0, 0}},   {"ABC", {0, 0, 0, 0, 4}}, {"ABD", {1, 1, 2, 0, 4}},
      {"ABC", {2, 2, 2, 2, 4}}, {"ABD", {3, 3, 4, 2, 4}}, {"E", {4, 4, 4, 4, 4}},
      {"ABC", {4, 4, 4, 4, 8}}, {"ABD", {5, 5, 6, 4, 8}}, {"ABC", {6, 6, 6, 6, 8}},
  };
  for (const auto& [run, passes] : expected) {
    EXPECT_EQ(pool.passes("ABCDE"), passes);
    EXPECT_EQ(pool.quantum(), run);
  }
}

TEST(GangStride, EveryClientOfTheSlidesGetsFourGpuQuantaOfFive) {
  Pool pool{.gpus = 4};
  pool.add('E', 4);
  for (char name : {'A', 'B'}) pool.add(name, 1);
  for (char name : {'C', 'D'}) pool.add(name, 2);
  pool.quanta(5);
  for (const auto& [name, gpus] : pool.received) EXPECT_EQ(gpus, 4) << name;
}

TEST(GangStride, WithoutSkipTheFirstMisfitDelaysAllBehindIt) {
  std::vector<StrideClient> queue = {
      {.gpus = 3, .order = 0}, {.gpus = 2, .order = 1}, {.gpus = 1, .order = 2}};
  EXPECT_EQ(gang_stride(queue, 4, false), 1U);
  EXPECT_TRUE(queue[0].chosen && !queue[1].chosen && !queue[2].chosen);
  EXPECT_EQ(gang_stride(queue, 4, true), 0U);
  EXPECT_TRUE(queue[0].chosen && !queue[1].chosen && queue[2].chosen);
}

TEST(GangStride, WhoHasGpusOfItsOwnWaitsForThemWhileOthersCanUseTheRest) {
  std::vector<StrideClient> queue = {{.gpus = 1, .order = 0, .own = 0b01},
                                     {.gpus = 1, .order = 1, .own = 0b01},
                                     {.gpus = 1, .order = 2, .own = 0b10}};
  EXPECT_EQ(gang_stride(queue, 2), 0U);
  EXPECT_TRUE(queue[0].chosen && !queue[1].chosen && queue[2].chosen);
}

TEST(GangStride, GpusThatWouldBeIdleGoToThoseWhoHaveToMoveThere) {
  std::vector<StrideClient> queue = {{.gpus = 2, .order = 0, .own = 0b0011},
                                     {.gpus = 2, .order = 1, .own = 0b0110},
                                     {.gpus = 1, .order = 2, .own = 0b1000}};
  EXPECT_EQ(gang_stride(queue, 4), 1U);
  EXPECT_TRUE(queue[0].chosen && !queue[1].chosen && queue[2].chosen);
  queue.pop_back();
  EXPECT_EQ(gang_stride(queue, 4), 0U);
  EXPECT_TRUE(queue[0].chosen && queue[1].chosen);
}

// The cost of the published rule: sizes that do not tile the pool leave GPUs idle.
TEST(GangStride, SizesThatDoNotPackLeaveGpusIdle) {
  Pool three_and_two{.gpus = 4};
  three_and_two.add('A', 3);
  three_and_two.add('B', 2);
  three_and_two.quanta(1000);
  EXPECT_NEAR(three_and_two.idle_part(1000), 0.40, 0.005);

  Pool four_and_one{.gpus = 4};
  four_and_one.add('A', 4);
  four_and_one.add('B', 1);
  four_and_one.quanta(1000);
  EXPECT_NEAR(four_and_one.idle_part(1000), 0.60, 0.005);

  Pool mixed{.gpus = 8};
  mixed.add('A', 8, 5);
  mixed.add('B', 8, 2);
  mixed.add('C', 1, 3);
  mixed.add('D', 1, 5);
  mixed.quanta(10000);
  EXPECT_NEAR(1 - mixed.idle_part(10000), 0.36, 0.005);
}

// A rides along with B whenever B runs. Its pass is its excess over its share.
Pool with_a_rider(Cap cap) {
  Pool pool{.gpus = 4, .cap = cap};
  pool.add('A', 3);
  pool.add('B', 1);
  pool.add('C', 4);
  pool.quanta(1000);
  return pool;
}

TEST(GangStride, ARiderReceivesMoreThanItsShareAndNothingIdles) {
  for (Cap cap : {Cap::kNo, Cap::kYes}) {
    Pool pool = with_a_rider(cap);
    EXPECT_EQ(pool.idle, 0);
    EXPECT_EQ(pool.received['A'], 2400);
    EXPECT_EQ(pool.received['B'], 800);
    EXPECT_EQ(pool.received['C'], 800);
  }
}

// D, whose two GPUs do not fit beside A's three, comes in B's place. How long does A wait?
int quanta_until_the_rider_runs_again(Cap cap) {
  Pool pool = with_a_rider(cap);
  std::erase_if(pool.queue, [](const auto& each) { return Pool::name(each) == 'B'; });
  pool.add('D', 2, 1, pool.client('C').pass);
  for (int quanta = 1;; ++quanta) {
    if (pool.quantum().find('A') != std::string::npos) return quanta;
  }
}

TEST(GangStride, TheCapForgivesTheRidersDebtWhichItWouldStarveBy) {
  EXPECT_EQ(with_a_rider(Cap::kNo).passes("ABC"), (Passes{2400, 800, 800}));
  EXPECT_EQ(with_a_rider(Cap::kYes).passes("ABC"), (Passes{804, 800, 800}));
  EXPECT_GT(quanta_until_the_rider_runs_again(Cap::kNo), 1000);
  EXPECT_LE(quanta_until_the_rider_runs_again(Cap::kYes), 4);
}

TEST(GangStride, ACapLooksAwayFromClientsThatCannotRun) {
  std::vector<StrideClient> queue = {{.pass = 1, .gpus = 8}, {.pass = 5}, {.pass = 9}};
  cap_passes(queue, 4);
  EXPECT_EQ(queue[0].pass, 1);
  EXPECT_EQ(queue[1].pass, 5);
  EXPECT_EQ(queue[2].pass, 6);
}

TEST(GangStride, AChargeIsGpusPerTicketAndPartsOfAQuantumAddUp) {
  StrideClient client{.pass = 1, .tickets = 4, .gpus = 2};
  charge(client, 1);
  EXPECT_EQ(client.pass, 1.5);
  charge(client, 0.25);
  charge(client, 0.75);
  EXPECT_EQ(client.pass, 2);
}

TEST(GangStride, TheMeanIsWeightedByTickets) {
  EXPECT_EQ(mean_pass({}), 0);
  const std::vector<StrideClient> queue = {{.pass = 10, .tickets = 3}, {.pass = 2, .tickets = 1}};
  EXPECT_EQ(mean_pass(queue), 8);
}

TEST(GangStride, TheMeanGrowsAsIfThePoolWereOneClientWithAllTickets) {
  Pool pool{.gpus = 4};
  pool.add('A', 1, 3);
  pool.add('B', 2, 1);
  pool.add('C', 1, 4);
  pool.quanta(16);
  EXPECT_DOUBLE_EQ(mean_pass(pool.queue), 16 * 4 / 8.0);
}

// A random pool, after some quanta.
Pool drawn_pool(Cap cap) {
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  Pool pool{.gpus = static_cast<std::uint32_t>(1 + rng.below(16)), .cap = cap};
  const std::uint64_t clients = 1 + rng.below(10);
  for (std::uint64_t i = 0; i < clients; ++i) {
    pool.add(static_cast<char>('A' + static_cast<char>(i)),
             static_cast<std::uint32_t>(1 + rng.below(pool.gpus)),
             static_cast<double>(1 + rng.below(8)));
  }
  pool.quanta(static_cast<int>(rng.below(100)));
  return pool;
}

RC_GTEST_PROP(GangStrideProperties, TheSmallestPassAlwaysRunsAndSoAdvances, ()) {
  Pool pool = drawn_pool(*rc::gen::element(Cap::kNo, Cap::kYes));
  for (int i = 0; i < 50; ++i) {
    const double smallest = std::ranges::min(pool.queue, {}, &StrideClient::pass).pass;
    gang_stride(pool.queue, pool.gpus);
    RC_ASSERT(pool.queue.front().pass == smallest);
    RC_ASSERT(pool.queue.front().chosen);
    pool.quantum();
  }
  const double later = std::ranges::min(pool.queue, {}, &StrideClient::pass).pass;
  RC_ASSERT(later > 0);
}

RC_GTEST_PROP(GangStrideProperties, NoneThatFitsIsLeftOutAndThePoolIsNeverOverfull, ()) {
  Pool pool = drawn_pool(Cap::kNo);
  const std::uint32_t idle = gang_stride(pool.queue, pool.gpus);
  std::uint32_t allocated = 0;
  for (const StrideClient& each : pool.queue) {
    if (each.chosen) allocated += each.gpus;
    if (!each.chosen) RC_ASSERT(each.gpus > idle);
  }
  RC_ASSERT(allocated + idle == pool.gpus);
}

// With the cap no client waits longer than it takes all others to work off the spread of passes.
RC_GTEST_PROP(GangStrideProperties, UnderTheCapEveryClientRunsWithinABoundedTime, ()) {
  Pool pool = drawn_pool(Cap::kYes);
  pool.quantum();
  double largest_stride = 0;
  for (const StrideClient& each : pool.queue)
    largest_stride = std::max(largest_stride, each.gpus / each.tickets);
  double bound = 1;
  for (const StrideClient& each : pool.queue)
    bound += std::floor(largest_stride / (each.gpus / each.tickets)) + 1;
  std::map<char, int> waited;
  for (int i = 0; i < 500; ++i) {
    const std::string run = pool.quantum();
    for (const StrideClient& each : pool.queue) {
      int& quanta = waited[Pool::name(each)];
      quanta = run.find(Pool::name(each)) == std::string::npos ? quanta + 1 : 0;
      RC_ASSERT(quanta <= bound);
    }
  }
}

RC_GTEST_PROP(GangStrideProperties, PermutingTheClientsPermutesWhoRuns, ()) {
  Pool pool = drawn_pool(Cap::kNo);
  Pool permuted = pool;
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  for (int i = 0; i < 20; ++i) {
    for (std::size_t n = permuted.queue.size(); n > 1; --n) {
      std::swap(permuted.queue[n - 1], permuted.queue[rng.below(n)]);
    }
    RC_ASSERT(pool.quantum() == permuted.quantum());
  }
}

// If all gangs are of one GPU, every client can be chosen for every GPU. Tickets then buy exactly
// their share, to within a quantum per client.
RC_GTEST_PROP(GangStrideProperties, GangsOfOneGpuReceiveByTicketsToWithinAQuantumPerClient, ()) {
  const auto tickets =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 9)));
  RC_PRE(tickets.size() <= 20U);
  Pool pool{.gpus = 1};
  double all = 0;
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    pool.add(static_cast<char>('A' + static_cast<char>(i)), 1, tickets[i]);
    all += tickets[i];
  }
  const int quanta = 300;
  pool.quanta(quanta);
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const double entitled = quanta * tickets[i] / all;
    const auto received =
        static_cast<double>(pool.received[static_cast<char>('A' + static_cast<char>(i))]);
    RC_ASSERT(std::abs(received - entitled) <= static_cast<double>(tickets.size()));
  }
}

TEST(SetTickets, KeepsWhatAClientIsBehindInGpuTime) {
  StrideClient client = {.pass = 7, .tickets = 2, .gpus = 4};
  set_tickets(client, 4, 10);
  EXPECT_EQ(client.tickets, 4);
  EXPECT_EQ(client.pass, 8.5) << "6 GPU-quanta behind the mean, before and after";
}

}  // namespace
}  // namespace fairlead
