#include "fairlead/sim/link_sharing.h"

#include "fairlead/model/communication.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace fairlead {
namespace {

constexpr double kFree = 1e9;  // a demand that nothing here can meet

struct PlainFlow {
  std::vector<std::size_t> links;
  double demand = kFree;
};

std::vector<LinkId> link_ids(const std::vector<std::size_t>& rows) {
  std::vector<LinkId> links;
  for (std::size_t row : rows) links.emplace_back(row);
  return links;
}

// Links of given capacities, and flows in the order they came.
struct Net {
  explicit Net(const std::vector<double>& capacities) : links(column(capacities)) {}
  static IdVector<LinkId, double> column(const std::vector<double>& capacities) {
    IdVector<LinkId, double> ids;
    for (double capacity : capacities) ids.push_back(capacity);
    return ids;
  }
  std::size_t add(const PlainFlow& flow) {
    flows.push_back(links.add(link_ids(flow.links), flow.demand));
    return flows.size() - 1;
  }
  std::vector<double> bandwidths() {
    links.update();
    std::vector<double> all;
    for (FlowId flow : flows) all.push_back(links.bandwidth(flow));
    return all;
  }
  LinkSharing links;
  std::vector<FlowId> flows;
};

using Bandwidths = std::vector<double>;

TEST(LinkSharing, SharesOneLinkEqually) {
  Net net({12});
  for (int i = 0; i < 3; ++i) net.add({.links = {0}});
  EXPECT_EQ(net.bandwidths(), (Bandwidths{4, 4, 4}));
}

TEST(LinkSharing, GivesWhatADemandLeavesToTheOthers) {
  Net net({12});
  net.add({.links = {0}, .demand = 2});
  net.add({.links = {0}});
  net.add({.links = {0}, .demand = 100});
  EXPECT_EQ(net.bandwidths(), (Bandwidths{2, 5, 5}));
}

// The textbook's line: one long flow over both links, one short flow on each.
TEST(LinkSharing, FixesFlowsWhereTheirLinkIsFullAndLetsOthersGrow) {
  Net net({1, 4});
  net.add({.links = {0, 1}});
  net.add({.links = {0}});
  net.add({.links = {1}});
  EXPECT_EQ(net.bandwidths(), (Bandwidths{0.5, 0.5, 3.5}));
  EXPECT_EQ(net.links.contenders(net.flows[0]), 2U);
}

TEST(LinkSharing, AFlowThatLeavesMayCostAThirdOneItsBandwidth) {
  Net net({1, 1});
  net.add({.links = {0, 1}});
  net.add({.links = {1}});
  net.add({.links = {0}});
  net.add({.links = {0}});
  EXPECT_NEAR(net.bandwidths()[1], 2.0 / 3, 1e-12);
  net.links.remove(net.flows.back());
  net.flows.pop_back();
  EXPECT_EQ(net.bandwidths(), (Bandwidths{0.5, 0.5, 0.5}));
}

TEST(LinkSharing, ReportsOnlyFlowsThatChanged) {
  Net net({1, 1, 1});
  net.add({.links = {0}});
  net.add({.links = {1, 2}});
  EXPECT_EQ(net.links.update().size(), 2U);
  EXPECT_TRUE(net.links.update().empty());
  net.add({.links = {2}});
  const auto changed = net.links.update();
  EXPECT_EQ(std::set(changed.begin(), changed.end()), (std::set{net.flows[1], net.flows[2]}));
}

TEST(LinkSharing, AFlowWithinWhatItsLinksLeaveMeetsNoOther) {
  Net net({10});
  net.add({.links = {0}, .demand = 3});
  net.links.update();
  net.add({.links = {0}, .demand = 3});
  for (FlowId flow : net.links.update()) EXPECT_EQ(net.links.bandwidth(flow), 3);
}

// Transfers of 526.4 MB over 10 Gbit/s Ethernet as measured by Wang et al. (arXiv 2002.10105):
// 0.856 ms per MB, and 0.235 ms more for each other transfer.
TEST(LinkSharing, GivesThePublishedTimesOfTransfersThatMeet) {
  constexpr double kMb = 526.4;
  const double gbps = 8.0 / 0.856;
  Net net({gbps});
  net.add({.links = {0}, .demand = gbps});
  const auto time_ms = [&](double penalty_ms_per_mb) {
    net.links.update();
    const auto others = static_cast<double>(net.links.contenders(net.flows[0]) - 1);
    return transfer_ms(kMb, net.links.bandwidth(net.flows[0])) + penalty_ms_per_mb * kMb * others;
  };
  EXPECT_NEAR(time_ms(0.235), 450.6, 0.05);
  net.add({.links = {0}, .demand = gbps});
  EXPECT_NEAR(time_ms(0.235), 1024.9, 0.05);
  EXPECT_NEAR(time_ms(0), 901.2, 0.05);
}

// The same by the definition: all flows at once, over all links.
Bandwidths plain_filling(const std::vector<double>& capacities,
                         const std::vector<PlainFlow>& flows) {
  Bandwidths got(flows.size(), 0);
  std::vector<bool> fixed(flows.size(), false);
  while (std::ranges::find(fixed, false) != fixed.end()) {
    double level = std::numeric_limits<double>::infinity();
    std::vector<double> share(capacities.size(), level);
    for (std::size_t link = 0; link < capacities.size(); ++link) {
      double left = capacities[link];
      double growing = 0;
      for (std::size_t i = 0; i < flows.size(); ++i) {
        if (std::ranges::find(flows[i].links, link) == flows[i].links.end()) continue;
        fixed[i] ? left -= got[i] : growing += 1;
      }
      if (growing > 0) level = std::min(level, share[link] = left / growing);
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (!fixed[i]) level = std::min(level, flows[i].demand);
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const auto is_full = [&](std::size_t link) { return share[link] <= level * (1 + 1e-12); };
      if (fixed[i] || (flows[i].demand > level && std::ranges::none_of(flows[i].links, is_full))) {
        continue;
      }
      got[i] = level;
      fixed[i] = true;
    }
  }
  return got;
}

PlainFlow drawn_flow(std::size_t links) {
  std::set<std::size_t> rows;
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
    rows.insert(*rc::gen::inRange<std::size_t>(0, links));
  }
  PlainFlow flow{.links = {rows.begin(), rows.end()}};
  if (*rc::gen::inRange(0, 2) == 0) flow.demand = *rc::gen::inRange(1, 40);
  return flow;
}

std::vector<double> drawn_capacities() {
  std::vector<double> capacities;
  for (int i = *rc::gen::inRange(1, 13); i > 0; --i) {
    capacities.push_back(*rc::gen::inRange(1, 100));
  }
  return capacities;
}

// A net through which flows come and go at random, several between two updates.
RC_GTEST_PROP(LinkSharing, EqualsThePlainFillingOfAllFlowsWhateverCameAndWent, ()) {
  const auto capacities = drawn_capacities();
  Net net(capacities);
  std::map<FlowId, PlainFlow> present;
  std::map<FlowId, double> before;
  for (int step = *rc::gen::inRange(1, 60); step > 0; --step) {
    for (int edits = *rc::gen::inRange(1, 4); edits > 0; --edits) {
      if (!present.empty() && *rc::gen::inRange(0, 5) < 2) {
        const auto gone =
            std::next(present.begin(), *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(present)));
        net.links.remove(gone->first);
        before.erase(gone->first);
        present.erase(gone);
        continue;
      }
      const PlainFlow flow = drawn_flow(capacities.size());
      present.emplace(net.links.add(link_ids(flow.links), flow.demand), flow);
    }
    const auto changed = net.links.update();
    const std::set<FlowId> reported(changed.begin(), changed.end());
    std::vector<PlainFlow> flows;
    for (const auto& [id, flow] : present) flows.push_back(flow);
    const Bandwidths expected = plain_filling(capacities, flows);
    std::size_t i = 0;
    for (const auto& [id, flow] : present) {
      RC_ASSERT(std::abs(net.links.bandwidth(id) - expected[i]) <= 1e-9 * expected[i]);
      RC_ASSERT(reported.contains(id) || before[id] == net.links.bandwidth(id));
      before[id] = net.links.bandwidth(id);
      ++i;
    }
  }
}

// Hosts and racks as clusters have them: most uplinks are equal, so that many levels tie, and
// nearly all flows are connected.
RC_GTEST_PROP(LinkSharing, EqualsThePlainFillingOnRacksOfHosts, ()) {
  const auto racks = *rc::gen::inRange<std::size_t>(2, 8);
  const auto hosts = racks * 4;
  std::vector<double> capacities(hosts, *rc::gen::element(10.0, 25.0, 100.0));
  capacities.resize(hosts + racks, *rc::gen::element(10.0, 40.0, 100.0, 1e-3));
  const auto drawn_gang = [&] {
    std::set<std::size_t> rows;
    for (int i = *rc::gen::inRange(2, 6); i > 0; --i) {
      const auto host = *rc::gen::inRange<std::size_t>(0, hosts);
      rows.insert(host);
      rows.insert(hosts + host / 4);
    }
    return PlainFlow{.links = {rows.begin(), rows.end()},
                     .demand = *rc::gen::element(10.0, 25.0, 100.0, kFree)};
  };
  Net net(capacities);
  std::vector<PlainFlow> flows;
  for (int step = *rc::gen::inRange(1, 80); step > 0; --step) {
    if (flows.size() > 2 && *rc::gen::inRange(0, 5) < 2) {
      const auto gone = *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(flows));
      net.links.remove(net.flows[static_cast<std::size_t>(gone)]);
      net.flows.erase(net.flows.begin() + gone);
      flows.erase(flows.begin() + gone);
    } else {
      flows.push_back(drawn_gang());
      net.add(flows.back());
    }
    const Bandwidths got = net.bandwidths();
    const Bandwidths expected = plain_filling(capacities, flows);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      RC_ASSERT(std::abs(got[i] - expected[i]) <= 1e-9 * expected[i]);
    }
  }
}

TEST(LinkSharing, LooksOnlyAtLinksWhereSomethingCanChange) {
  constexpr std::size_t kPairs = 100;
  // Pairs on a link of their own, and all on one that has room for all.
  std::vector<double> capacities(kPairs, 1);
  capacities.push_back(1'000);
  Net net(capacities);
  for (std::size_t i = 0; i < kPairs; ++i) {
    net.add({.links = {i, kPairs}});
    net.add({.links = {i, kPairs}});
  }
  net.links.update();
  const std::int64_t before = net.links.link_updates();
  net.add({.links = {7, kPairs}});
  const auto changed = net.links.update();
  EXPECT_EQ(std::set(changed.begin(), changed.end()),
            (std::set{net.flows[14], net.flows[15], net.flows.back()}));
  EXPECT_LE(net.links.link_updates() - before, 10);
}

TEST(LinkSharing, GivesADemandThatFitsToTheLastBit) {
  const double demand = 8.0 / 0.856;
  Net net({1'600, demand, 3});
  net.add({.links = {0}, .demand = demand});
  net.add({.links = {0, 1}, .demand = demand});
  net.add({.links = {2}, .demand = 1e9});
  EXPECT_EQ(net.bandwidths(), (Bandwidths{demand, demand, 3}));
}

TEST(LinkSharing, ReportsWhoMeetsMoreOrFewerOthersIfAsked) {
  LinkSharing links(Net::column({10, 10}), true);
  const FlowId first = links.add(link_ids({0}), 1);
  links.add(link_ids({1}), 1);
  links.update();
  links.add(link_ids({0}), 1);
  const auto changed = links.update();
  EXPECT_NE(std::ranges::find(changed, first), changed.end());
  EXPECT_EQ(changed.size(), 2U);
  EXPECT_EQ(links.contenders(first), 2U);
}

// The definition of max-min fairness: a flow with less than its demand shares a full link on which no flow has more.
RC_GTEST_PROP(LinkSharing, LeavesNoFlowThatCouldHaveMore, ()) {
  const auto capacities = drawn_capacities();
  Net net(capacities);
  std::vector<PlainFlow> flows;
  for (int i = *rc::gen::inRange(1, 20); i > 0; --i) {
    flows.push_back(drawn_flow(capacities.size()));
    net.add(flows.back());
  }
  const Bandwidths got = net.bandwidths();
  std::vector<double> load(capacities.size(), 0);
  std::vector<double> most(capacities.size(), 0);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    for (std::size_t link : flows[i].links) {
      load[link] += got[i];
      most[link] = std::max(most[link], got[i]);
    }
  }
  for (std::size_t link = 0; link < capacities.size(); ++link) {
    RC_ASSERT(load[link] <= capacities[link] * (1 + 1e-9));
  }
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const auto limits = [&](std::size_t link) {
      return load[link] >= capacities[link] * (1 - 1e-9) && got[i] >= most[link] * (1 - 1e-9);
    };
    RC_ASSERT(got[i] <= flows[i].demand);
    RC_ASSERT(got[i] == flows[i].demand || std::ranges::any_of(flows[i].links, limits));
  }
}

RC_GTEST_PROP(LinkSharing, DependsOnTheFlowsThatAreThereAndNotOnTheirOrderToTheLastBit, ()) {
  const auto capacities = drawn_capacities();
  std::vector<PlainFlow> flows;
  for (int i = *rc::gen::inRange(1, 20); i > 0; --i) flows.push_back(drawn_flow(capacities.size()));
  Net forwards(capacities);
  for (const PlainFlow& flow : flows) forwards.add(flow);
  Net backwards(capacities);
  const FlowId passing = backwards.links.add(link_ids({0}), kFree);
  for (std::size_t i = flows.size(); i-- > 0;) {
    backwards.add(flows[i]);
    backwards.links.update();
    if (i == flows.size() / 2) backwards.links.remove(passing);
  }
  Bandwidths other = backwards.bandwidths();
  std::ranges::reverse(other);
  RC_ASSERT(forwards.bandwidths() == other);
}

// The claim for all flows is false (above); the smallest bandwidth is the one that cannot fall.
RC_GTEST_PROP(LinkSharing, AFlowThatLeavesNeverLowersTheSmallestBandwidth, ()) {
  const auto capacities = drawn_capacities();
  Net net(capacities);
  for (int i = *rc::gen::inRange(2, 20); i > 0; --i) net.add(drawn_flow(capacities.size()));
  const auto leaves = *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(net.flows));
  const Bandwidths before = net.bandwidths();
  net.links.remove(net.flows[static_cast<std::size_t>(leaves)]);
  net.flows.erase(net.flows.begin() + leaves);
  RC_ASSERT(std::ranges::min(net.bandwidths()) >= std::ranges::min(before) * (1 - 1e-9));
}

}  // namespace
}  // namespace fairlead
