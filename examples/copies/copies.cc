// Is a model as good if it is trained as copies on nodes of unequal speed (HadarE, arXiv 2503.10918)?
// Trains small networks on emulated nodes, with Fairlead's tracker, and prints a table.
//
// The unit of time is a step of the fastest node. An exchange of parameters takes as long as four such
// steps. All copies end a round together. The arms:
//
//   one node              all steps on the fastest node
//   one node, same time   as many steps as it makes while the copies make all steps
//   data-parallel         a gang over all nodes in the same time: each step averages a batch of each node,
//                         at the pace of the slowest, and its exchange is free
//   copies                all steps, split by speed; the mean of the copies, weighted by steps, after each round
//   copies, same rate     like copies, with the best learning rate for one node
//   copies, scaled rate   with this rate times the speed of all nodes, divided by the speed of the fastest
//   copies, momentum      the change in a round is a gradient of an outer step of 0.7 with momentum 0.9
//   one node, momentum    the same on the fastest node alone, all steps
//
// Each arm has the learning rate with the least loss on a third set of pictures, over two seeds that are
// not in the table.
#include "fairlead/base/rng.h"
#include "fairlead/copies/consolidate.h"

#include "network.h"
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace copies {
namespace {

constexpr std::size_t kSteps = 2000;
constexpr std::size_t kBatch = 16;
constexpr double kExchange = 4;
constexpr std::size_t kRounds[] = {50, 200, 500};  // steps of all copies
constexpr float kRates[] = {0.025F, 0.05F, 0.1F, 0.2F, 0.4F, 0.8F};
constexpr std::uint64_t kTuningSeeds[] = {1001, 1002};
constexpr Model kModels[] = {Model::kDense32, Model::kDense128x64, Model::kConv8};

struct Nodes {
  std::string name;
  std::vector<double> speeds;  // the fastest has 1
  double together() const { return std::accumulate(speeds.begin(), speeds.end(), 0.0); }
  double slowest() const { return *std::ranges::min_element(speeds); }
};
// The clusters of the experiments hadare and hadare-lab, with the speeds of ResNet-18 (batch size 64)
// in the table `gavel`: 24.093 on V100, 22.305 on P100, 7.052 on K80.
const Nodes kOneNode = {"", {1}};
const Nodes kClusters[] = {{"hadare", {1, 1, 0.926, 0.926, 0.293}},
                           {"hadare-lab", {1, 0.293, 0.293, 0.293, 0.293}}};

struct Sets {
  Images train, tune, test;
};

enum class Arm : std::uint8_t {
  kOne,
  kOneOuter,
  kOneSameTime,
  kDataParallel,
  kCopies,
  kSame,
  kScaled,
  kOuter
};
constexpr std::string_view kArms[] = {
    "one node", "one node, momentum", "one node, same time", "data-parallel",
    "copies",   "copies, same rate",  "copies, scaled rate", "copies, momentum"};

struct Run {
  Arm arm = Arm::kOne;
  Model model = Model::kDense32;
  const Nodes* nodes = nullptr;
  std::size_t round = 0;
  float rate = 0;
  std::uint64_t seed = 0;
};

struct Point {
  double time = 0;
  Network::Score score;
};

double round_time(const Nodes& nodes, std::size_t steps) {
  const std::vector<std::uint64_t> split = fairlead::split_steps(steps, nodes.speeds);
  double last = 0;
  for (std::size_t i = 0; i < split.size(); ++i)
    last = std::max(last, static_cast<double>(split[i]) / nodes.speeds[i]);
  return last + kExchange;
}

double copies_time(const Nodes& nodes, std::size_t round) {
  return static_cast<double>(kSteps / round) * round_time(nodes, round);
}

// One worker's pictures, drawn again for each step.
class Batches {
 public:
  Batches(const Images& images, fairlead::Rng random, std::size_t size)
      : images_(images), random_(random), batch_(size) {}
  std::span<const std::size_t> next() {
    for (std::size_t& image : batch_) image = random_.below(images_.size());
    return batch_;
  }

 private:
  const Images& images_;
  fairlead::Rng random_;
  std::vector<std::size_t> batch_;
};

// Steps of one network, each of this many time units. The score is computed 25 times.
std::vector<Point> train_one(const Sets& sets, const Images& judge, const Run& run,
                             std::size_t steps, std::size_t batch, double step_time) {
  const fairlead::Rng random(run.seed);
  Network network(run.model, random.split(0));
  Batches batches(sets.train, random.split(1), batch);
  std::vector<Point> points;
  const std::size_t every = std::max<std::size_t>(1, steps / 25);
  for (std::size_t step = 1; step <= steps; ++step) {
    network.learn(sets.train, batches.next(), run.rate);
    if (step % every == 0 || step == steps)
      points.push_back({static_cast<double>(step) * step_time, network.judge(judge)});
  }
  return points;
}

std::vector<Point> train_copies(const Sets& sets, const Images& judge, const Run& run) {
  const fairlead::Rng random(run.seed);
  const std::size_t copies = run.nodes->speeds.size();
  Network network(run.model,
                  random.split(0));  // the parameters of all copies at the start of a round
  std::vector<Network> of_copy(copies, network);
  std::vector<Batches> batches;
  for (std::size_t i = 0; i < copies; ++i)
    batches.emplace_back(sets.train, random.split(1 + i), kBatch);
  const bool is_plain = run.arm != Arm::kOuter && run.arm != Arm::kOneOuter;
  fairlead::OuterMomentum outer(is_plain ? 1 : 0.7, is_plain ? 0 : 0.9);
  std::vector<float> mean(network.parameters.size());
  std::vector<Point> points;
  double time = 0;
  for (std::size_t done = 0; done + run.round <= kSteps; done += run.round) {
    const std::vector<std::uint64_t> split = fairlead::split_steps(run.round, run.nodes->speeds);
    std::vector<std::span<const float>> parameters;
    for (std::size_t i = 0; i < copies; ++i) {
      of_copy[i].parameters = network.parameters;
      for (std::uint64_t step = 0; step < split[i]; ++step)
        of_copy[i].learn(sets.train, batches[i].next(), run.rate);
      parameters.emplace_back(of_copy[i].parameters);
    }
    fairlead::average(parameters, split, mean);
    outer.step(network.parameters, mean);
    time += round_time(*run.nodes, run.round);
    points.push_back({time, network.judge(judge)});
  }
  return points;
}

std::vector<Point> train(const Sets& sets, const Images& judge, const Run& run) {
  switch (run.arm) {
    case Arm::kOne:
      return train_one(sets, judge, run, kSteps, kBatch, 1);
    case Arm::kOneSameTime: {
      const double time = copies_time(*run.nodes, run.round);
      return train_one(sets, judge, run, static_cast<std::size_t>(time), kBatch, 1);
    }
    case Arm::kDataParallel: {
      const double pace = run.nodes->slowest();
      const double time = copies_time(*run.nodes, run.round);
      return train_one(sets, judge, run, static_cast<std::size_t>(time * pace),
                       kBatch * run.nodes->speeds.size(), 1 / pace);
    }
    default:
      return train_copies(sets, judge, run);
  }
}

std::vector<std::vector<Point>> train_all(const Sets& sets, const Images& judge,
                                          const std::vector<Run>& runs, unsigned threads) {
  std::vector<std::vector<Point>> results(runs.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> done = 0;
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (std::size_t run = next++; run < runs.size(); run = next++) {
        results[run] = train(sets, judge, runs[run]);
        if (++done % 50 == 0) fmt::print(stderr, "{} of {} runs\n", done.load(), runs.size());
      }
    });
  }
  workers.clear();
  return results;
}

// One row of results: an arm with its model, nodes and round.
struct Cell {
  Arm arm;
  Model model;
  const Nodes* nodes;
  std::size_t round;
  auto operator<=>(const Cell&) const = default;
};

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (Model model : kModels) {
    cells.push_back({Arm::kOne, model, &kOneNode, 0});
    for (std::size_t round : kRounds) cells.push_back({Arm::kOneOuter, model, &kOneNode, round});
    for (const Nodes& nodes : kClusters) {
      for (std::size_t round : kRounds) {
        for (Arm arm : {Arm::kOneSameTime, Arm::kDataParallel, Arm::kCopies, Arm::kSame,
                        Arm::kScaled, Arm::kOuter})
          cells.push_back({arm, model, &nodes, round});
      }
    }
  }
  return cells;
}

bool is_tuned(Arm arm) { return arm != Arm::kSame && arm != Arm::kScaled; }

std::map<Cell, float> tune(const Sets& sets, unsigned threads) {
  std::vector<Run> runs;
  std::vector<Cell> of_run;
  for (const Cell& cell : all_cells()) {
    if (!is_tuned(cell.arm)) continue;
    for (float rate : kRates) {
      for (std::uint64_t seed : kTuningSeeds) {
        runs.push_back({cell.arm, cell.model, cell.nodes, cell.round, rate, seed});
        of_run.push_back(cell);
      }
    }
  }
  const auto results = train_all(sets, sets.tune, runs, threads);
  std::map<std::pair<Cell, float>, double> losses;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double loss = results[i].back().score.loss;
    losses[{of_run[i], runs[i].rate}] += std::isfinite(loss) ? loss : 1e9;
  }
  std::map<Cell, float> rates;
  for (const auto& [key, loss] : losses) {
    const auto& [cell, rate] = key;
    const auto best = rates.try_emplace(cell, rate).first;
    if (loss < losses[{cell, best->second}]) best->second = rate;
  }
  const std::map<Cell, float> tuned = rates;
  for (const Cell& cell : all_cells()) {
    if (is_tuned(cell.arm)) continue;
    const float one = tuned.at({Arm::kOne, cell.model, &kOneNode, 0});
    const auto factor = static_cast<float>(cell.nodes->together());
    rates[cell] = cell.arm == Arm::kScaled ? one * factor : one;
  }
  return rates;
}

// Mean and half of the 95 % interval of Student's t.
std::string interval(const std::vector<double>& values, double unit, int digits) {
  constexpr double kT[] = {0, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  const double t = values.size() <= std::size(kT) ? kT[values.size() - 1] : 1.96;
  const double half = values.size() > 1 ? t * std::sqrt(squares / (count - 1) / count) : 0;
  return fmt::format("{:.{}f} ± {:.{}f}", unit * mean, digits, unit * half, digits);
}

void print(const std::map<Cell, float>& rates, const std::vector<Run>& runs,
           const std::vector<std::vector<Point>>& results, std::size_t seeds) {
  std::map<Cell, std::vector<std::vector<Point>>> of_cell;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    of_cell[{run.arm, run.model, run.nodes, run.round}].push_back(results[i]);
  }
  fmt::print(
      "| model | nodes | round, steps | arm | rate | time | held-out loss | accuracy, % | time to "
      "one "
      "node's loss |\n|---|---|--:|---|--:|--:|--:|--:|--:|\n");
  for (const Cell& cell : all_cells()) {
    const auto& one = of_cell.at({Arm::kOne, cell.model, &kOneNode, 0});
    const auto& mine = of_cell.at(cell);
    std::vector<double> losses, accuracies, reached;
    for (std::size_t seed = 0; seed < seeds; ++seed) {
      losses.push_back(mine[seed].back().score.loss);
      accuracies.push_back(mine[seed].back().score.accuracy);
      const double target = one[seed].back().score.loss;
      const auto at = std::ranges::find_if(
          mine[seed], [&](const Point& point) { return point.score.loss <= target; });
      if (at != mine[seed].end()) reached.push_back(at->time);
    }
    fmt::print("| {} | {} | {} | {} | {:.3g} | {:.0f} | {} | {} | {} |\n", model_name(cell.model),
               cell.nodes->name, cell.round == 0 ? "" : fmt::to_string(cell.round),
               kArms[static_cast<std::size_t>(cell.arm)], rates.at(cell), mine[0].back().time,
               interval(losses, 1, 3), interval(accuracies, 100, 1),
               reached.size() == seeds ? interval(reached, 1, 0)
               : reached.empty()       ? "never"
                                       : fmt::format("{} of {} times", reached.size(), seeds));
  }
}

int trial(std::size_t seeds, unsigned threads, const std::string& folder) {
  Sets sets;
  if (folder.empty()) {
    sets = {drawn(10'000, 1), drawn(1000, 2), drawn(2000, 3)};
  } else {
    auto train = fashion(folder, "train", 11'000);
    auto test = fashion(folder, "t10k", 2000);
    for (const auto* part : {&train, &test}) {
      if (!*part) return fmt::print(stderr, "fairlead-copies: {}\n", part->error().message), 2;
    }
    sets.test = std::move(*test);
    sets.train = sets.tune = *train;
    constexpr std::size_t kTrain = 10'000;
    sets.train.labels.resize(kTrain);
    sets.train.pixels.resize(kTrain * kPixels);
    sets.tune.labels.erase(sets.tune.labels.begin(), sets.tune.labels.begin() + kTrain);
    sets.tune.pixels.erase(sets.tune.pixels.begin(), sets.tune.pixels.begin() + kTrain * kPixels);
  }
  const std::map<Cell, float> rates = tune(sets, threads);
  std::vector<Run> runs;
  for (const Cell& cell : all_cells()) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
      runs.push_back({cell.arm, cell.model, cell.nodes, cell.round, rates.at(cell), seed});
  }
  print(rates, runs, train_all(sets, sets.test, runs, threads), seeds);
  return 0;
}

}  // namespace
}  // namespace copies

int main(int argc, char** argv) {
  constexpr std::string_view kHelp =
      "fairlead-copies [SEEDS [THREADS [FOLDER]]]: trains networks as copies on nodes of unequal "
      "speed.\n"
      "10 seeds and 2 threads by default; pictures of FOLDER, as /usr/share/datasets/fashion-mnist "
      "of\n"
      "Debian's dataset-fashion-mnist has them, else drawn ones.\n";
  unsigned numbers[] = {10, 2};
  for (int i = 1; i < std::min(argc, 3); ++i) {
    const std::string_view text = argv[i];
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), numbers[i - 1]);
    if (error != std::errc() || end != text.data() + text.size() || numbers[i - 1] == 0) {
      fmt::print(stderr, "{}", kHelp);
      return 2;
    }
  }
  return copies::trial(numbers[0], numbers[1], argc > 3 ? argv[3] : "");
}
