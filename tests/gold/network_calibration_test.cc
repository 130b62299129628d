// The errors of the computed network against measurements: the part of its speed that a gang keeps
// on several hosts (Chronus, Gao et al., SoCC 2021), and the time of an all-reduce (Vidur, Agrawal
// et al., MLSys 2024). docs/network.md explains the errors; the figures asserted here are the
// ones of its tables, good and bad. No parameter is fitted to the measurements.
#include "fairlead/model/cluster_build.h"
#include "fairlead/model/communication.h"
#include "fairlead/model/fabric.h"

#include "gold_csv.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace fairlead {
namespace {

using Table = std::vector<std::map<std::string, std::string>>;

// Empty where there is no such file.
Table profile(const char* file) {
  const auto path = gold_folder().parent_path() / "data" / "profiles" / file;
  return std::filesystem::exists(path) ? read_csv(path) : Table{};
}

struct Error {
  double mean = 0;
  double largest = 0;
};

// The fraction of the speed on one host.
struct Kept {
  std::uint32_t gpus = 0;
  std::uint32_t hosts = 0;
  double measured = 0;
};
using Rows = std::vector<Kept>;

// The rows on several hosts, by model.
std::map<std::string, Rows> chronus() {
  std::map<std::string, Rows> rows;
  for (auto& row : profile("chronus_spread.csv")) {
    const Kept kept = {static_cast<std::uint32_t>(std::stoul(row["num_gpus"])),
                       static_cast<std::uint32_t>(std::stoul(row["num_nodes"])),
                       std::stod(row["relative_throughput_vs_1_node"])};
    if (kept.hosts > 1) rows[row["model"]].push_back(kept);
  }
  return rows;
}

// One network for all models: Ethernet between hosts, and the part of the computation that must
// pass before gradients are exchanged.
struct Network {
  double gbps = 0;
  double overlap = 0;
};

double kept(Communication model, const Network& network, std::uint32_t gpus) {
  model.overlap = network.overlap;
  const Links links = {.pair_gbps = 1200, .node_gbps = 1200, .rack_gbps = network.gbps};
  const auto length_ms = [&](Tier tier) {
    return iteration_of(model, model.compute_ms, gpus, tier, links).alone_ms();
  };
  return length_ms(Tier::kNode) / length_ms(Tier::kRack);
}

Error error_of(const Communication& model, const Network& network, const Rows& rows) {
  Error error;
  for (const Kept& row : rows) {
    const double off = std::abs(kept(model, network, row.gpus) - row.measured);
    error.mean += off / static_cast<double>(rows.size());
    error.largest = std::max(error.largest, off);
  }
  return error;
}

struct Fitted {
  Communication model;
  Rows rows;
};

// The least squares among whole Gbit/s and twentieths; nothing can be exchanged before the backward
// pass, which takes 0.6 of the computation (Wang et al.: 54 of 90 ms, 52 of 87).
Network fit(const std::vector<Fitted>& models) {
  Network best;
  double least = std::numeric_limits<double>::infinity();
  for (int gbps = 5; gbps <= 100; ++gbps) {
    for (int twentieths = 0; twentieths <= 12; ++twentieths) {
      const Network network = {.gbps = 1.0 * gbps, .overlap = twentieths / 20.0};
      double squares = 0;
      for (const auto& [model, rows] : models) {
        for (const Kept& row : rows) {
          squares += std::pow(kept(model, network, row.gpus) - row.measured, 2);
        }
      }
      if (squares >= least) continue;
      least = squares;
      best = network;
    }
  }
  return best;
}

void expect_error(const Error& error, double mean, double largest) {
  EXPECT_NEAR(error.mean, mean, 0.005);
  EXPECT_NEAR(error.largest, largest, 0.005);
}

const Communication kVgg = {.gradients_mb = 526.4, .compute_ms = 90};
const Communication kInception = {.gradients_mb = 103.0, .compute_ms = 87};

TEST(NetworkCalibration, TellsOneModelOfChronusFromTheOther) {
  auto rows = chronus();
  if (rows.empty()) GTEST_SKIP() << "no data/profiles/chronus_spread.csv below FAIRLEAD_SHARED";
  ASSERT_EQ(rows["vgg16"].size(), 6U);
  ASSERT_EQ(rows["inception_v3"].size(), 6U);
  const Network by_vgg = fit({{kVgg, rows["vgg16"]}});
  EXPECT_EQ(by_vgg.gbps, 49);
  EXPECT_EQ(by_vgg.overlap, 0.6);
  expect_error(error_of(kInception, by_vgg, rows["inception_v3"]), 0.050, 0.121);

  const Network by_inception = fit({{kInception, rows["inception_v3"]}});
  EXPECT_EQ(by_inception.gbps, 30);
  EXPECT_EQ(by_inception.overlap, 0.45);
  expect_error(error_of(kVgg, by_inception, rows["vgg16"]), 0.222, 0.422);
  Rows four_hosts;
  std::ranges::copy_if(rows["vgg16"], std::back_inserter(four_hosts),
                       [](const Kept& row) { return row.hosts == 4; });
  expect_error(error_of(kVgg, by_inception, four_hosts), 0.035, 0.041);
}

// Gradients are torchvision's parameters x 4 bytes. Their compute time in Chronus' batches is not
// published. It is derived from one row, 4 GPUs on 4 hosts, and predicts the others.
struct Untimed {
  const char* name;
  double gradients_mb;
  double mean;
  double largest;
};
class UntimedModel : public testing::TestWithParam<Untimed> {};

TEST_P(UntimedModel, IsToldFromOneRow) {
  auto rows = chronus();
  if (rows.empty()) GTEST_SKIP() << "no data/profiles/chronus_spread.csv below FAIRLEAD_SHARED";
  const Network network = fit({{kVgg, rows["vgg16"]}, {kInception, rows["inception_v3"]}});
  Rows told = rows[GetParam().name];
  const auto timed =
      std::ranges::find_if(told, [](const Kept& row) { return row.gpus == 4 && row.hosts == 4; });
  ASSERT_NE(timed, told.end());
  Communication model = {.gradients_mb = GetParam().gradients_mb};
  double least = std::numeric_limits<double>::infinity();
  for (int quarters = 1; quarters <= 1'000; ++quarters) {
    Communication tried = model;
    tried.compute_ms = quarters / 4.0;
    const double off = std::abs(kept(tried, network, 4) - timed->measured);
    if (off >= least) continue;
    least = off;
    model.compute_ms = tried.compute_ms;
  }
  told.erase(timed);
  ASSERT_EQ(told.size(), 5U);
  expect_error(error_of(model, network, told), GetParam().mean, GetParam().largest);
}

INSTANTIATE_TEST_SUITE_P(NetworkCalibration, UntimedModel,
                         testing::Values(Untimed{"alexnet", 244.4, 0.126, 0.285},
                                         Untimed{"mobilenet_v2", 14.0, 0.140, 0.219},
                                         Untimed{"resnet101", 178.2, 0.046, 0.083}),
                         [](const auto& test) { return std::string(test.param.name); });

// Milliseconds by the middle of the size bin in MB.
using AllReduce = std::map<double, double>;

AllReduce vidur(const std::string& node_type, int workers, int per_node) {
  static const std::map<std::string, double> kMiddles = {
      {"<0.1M", 0.05}, {"0.1-1M", 0.55}, {"1-4M", 2.5},    {"4-8M", 6},
      {"8-16M", 12},   {"16-32M", 24},   {"32-67M", 49.5},
  };
  AllReduce measured;
  for (auto& row : profile("vidur_allreduce.csv")) {
    if (row["node_type"] == node_type && row["num_workers"] == std::to_string(workers) &&
        row["devices_per_node"] == std::to_string(per_node)) {
      measured[kMiddles.at(row["bin"])] = std::stod(row["mean_ms"]);
    }
  }
  return measured;
}

struct Line {
  double latency_us = 0;
  double gbps = 0;
};

double all_reduce_ms(double mb, int workers, const Line& line) {
  const Links links = {
      .pair_gbps = 1e6, .node_gbps = 1e6, .rack_gbps = line.gbps, .latency_us = line.latency_us};
  return iteration_of({.gradients_mb = mb}, 0, static_cast<std::uint32_t>(workers), Tier::kRack,
                      links)
      .alone_ms();
}

// For hosts of 8 GPUs with 4 cards; fitted to a gang of one GPU on each host.
double gbps_between_hosts(int workers, int per_node, const Line& line) {
  std::vector<NodeSpec> nodes;
  std::vector<Slice> gang;
  for (int node = 0; node < workers / per_node; ++node) {
    nodes.push_back({.gpu_type = "A100", .gpus = 8, .nics = {4, line.gbps}});
    gang.push_back({NodeId(gang.size()), static_cast<std::uint16_t>(per_node)});
  }
  const Links links = {.pair_gbps = 1e6, .node_gbps = 1e6};
  const Cluster cluster = build_cluster("dgx", links, nodes).value();
  return Fabric(cluster).route(cluster, gang).gbps;
}

// Latency by the smallest size, bandwidth by the largest.
Line line_through(const AllReduce& measured, int workers) {
  const double steps = 2.0 * (workers - 1);
  const double latency_ms = measured.begin()->second / steps;
  const auto [mb, ms] = *measured.rbegin();
  return {.latency_us = latency_ms * 1000,
          .gbps = steps / workers * mb * 8 / (ms - steps * latency_ms)};
}

struct AllReduceCase {
  const char* node_type;
  int fitted_workers, fitted_per_node;
  int workers, per_node;
  double large;  // computed / measured of the largest size
  double small;  // computed / measured of the smallest size
};
class AllReduceTime : public testing::TestWithParam<AllReduceCase> {};

TEST_P(AllReduceTime, OfALargerGangIsToldFromASmallerOne) {
  const AllReduceCase& test = GetParam();
  const AllReduce fitted = vidur(test.node_type, test.fitted_workers, test.fitted_per_node);
  const AllReduce told = vidur(test.node_type, test.workers, test.per_node);
  if (fitted.empty()) GTEST_SKIP() << "no data/profiles/vidur_allreduce.csv below FAIRLEAD_SHARED";
  ASSERT_EQ(fitted.size(), 7U);
  ASSERT_EQ(told.size(), 7U);
  Line line = line_through(fitted, test.fitted_workers);
  if (test.workers > test.per_node) {
    line.gbps = gbps_between_hosts(test.workers, test.per_node, line);
  }
  const auto ratio = [&](const auto& row) {
    return all_reduce_ms(row.first, test.workers, line) / row.second;
  };
  EXPECT_NEAR(ratio(*told.rbegin()), test.large, 0.01);
  EXPECT_NEAR(ratio(*told.begin()), test.small, 0.01);
}

INSTANTIATE_TEST_SUITE_P(NetworkCalibration, AllReduceTime,
                         testing::Values(AllReduceCase{"a100_dgx", 4, 4, 8, 8, 1.05, 2.12},
                                         AllReduceCase{"h100_dgx", 4, 4, 8, 8, 1.22, 3.30},
                                         AllReduceCase{"a100_dgx", 2, 1, 4, 2, 1.03, 2.44},
                                         AllReduceCase{"a100_dgx", 2, 1, 8, 4, 1.00, 5.33},
                                         AllReduceCase{"a100_dgx", 2, 1, 16, 8, 0.92, 12.11}));

}  // namespace
}  // namespace fairlead
