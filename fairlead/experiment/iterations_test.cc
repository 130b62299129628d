#include "fairlead/experiment/iterations.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead {
namespace {

const std::string kModel =
    "{name: m, size_mb: 1.5, forward_ms: 0.25, backward_ms: 2, memory_mb: 3}";
const std::string kClaims = "claims: [{claim: c, figure: summary, key: jct_avg_s, policy: a}]\n";

std::string with(const std::string& iterations, const std::string& more = kClaims) {
  return "title: t\nsource: s\nquestion: q\ncluster: 2xV100:1\n"
         "policies: {a: srsf-1, b: \"ada-srsf:placement=random\"}\n"
         "iterations: {" +
         iterations + "}\n" + more;
}

Result<Experiment> read_text(const std::string& text) { return read_experiment(text, "e", "e"); }

std::string error_of(const std::string& text) {
  const auto experiment = read_text(text);
  return experiment ? "" : experiment.error().message;
}

TEST(Iterations, AreReadInUnitsThatAddUpExactly) {
  const auto experiment =
      read_text(with("jobs: 6, gangs: {1: 2, 2: 1}, iterations: [4, 5], submit_span_s: 0.5, "
                     "gpu_memory_mb: 9, transfer_ms_per_mb: 0.1, penalty_ms_per_mb: 0, models: [" +
                     kModel + "]"));
  ASSERT_TRUE(experiment.has_value()) << experiment.error().message;
  const IterationOptions& options = *experiment->iterations;
  EXPECT_EQ(options.jobs, 6);
  EXPECT_EQ(options.gangs, (std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 2}, {2, 1}}));
  EXPECT_EQ(options.iterations_min, 4);
  EXPECT_EQ(options.iterations_max, 5);
  EXPECT_EQ(options.submit_span_ms, 500);
  EXPECT_EQ(options.gpu_memory_mb, 9);
  EXPECT_EQ(options.cost.alone_ns, 100);
  EXPECT_EQ(options.cost.penalty_ns, 0);
  ASSERT_EQ(options.models.size(), 1u);
  EXPECT_EQ(options.models[0].size_kb, 1500);
  EXPECT_EQ(options.models[0].forward_ns, 250'000);
  EXPECT_EQ(options.models[0].backward_ns, 2'000'000);
  EXPECT_EQ(options.models[0].memory_mb, 3);
}

TEST(Iterations, HaveThePublishedWorldWhereNothingIsSaid) {
  const auto experiment = read_text(with("models: [" + kModel + "]"));
  ASSERT_TRUE(experiment.has_value()) << experiment.error().message;
  const IterationOptions& options = *experiment->iterations;
  EXPECT_EQ(options.jobs, 160);
  EXPECT_EQ(options.cost.alone_ns, 856);
  EXPECT_EQ(options.cost.penalty_ns, 235);
  EXPECT_EQ(options.gpu_memory_mb, 32'768);
}

TEST(Iterations, SayWhereTheyAreWrong) {
  const std::string models = ", models: [" + kModel + "]";
  const auto has = [](const std::string& text, const std::string& what) {
    const std::string error = error_of(text);
    EXPECT_NE(error.find(what), std::string::npos) << error;
    EXPECT_NE(error.find(':'), std::string::npos) << "and where";
  };
  has(with("jobs: 80"), "models");
  has(with("jobs: 81" + models), "a multiple of the weights' sum 80: 81");
  has(with("iterations: [5, 4]" + models), "expected [least, most]");
  has(with("gangs: {x: 1}" + models), "a gang has a number of GPUs: x");
  has(with("models: [{name: m}]"), "size_mb");
  has(with("jobs: 80" + models, "until_h: 1\n" + kClaims), "does not go with iterations");
  has(with("jobs: 80" + models, "workload: {gavel: {jobs: 1}}\n" + kClaims),
      "does not go with iterations");
  has(with("jobs: 80" + models, "settings: {costs: none}\n" + kClaims),
      "does not go with iterations");
  has(with("jobs: 80" + models, "cases: [{label: x, policies: {a: fifo}}]\n" + kClaims),
      "no such policy of iterations");
  has(with("jobs: 80" + models, "claims: [{claim: c, figure: work, user: u, policy: a}]\n"),
      "expected summary or summary_h");
}

// A job on both nodes: 0.25 + 2 ms of phases and 1.5 MB at 1 ms per MB, twice.
TEST(Iterations, AreRunBySeedCaseAndPolicy) {
  const auto experiment = read_text(
      with("jobs: 1, gangs: {2: 1}, iterations: [2, 2], submit_span_s: 0.001, "
           "transfer_ms_per_mb: 1, models: [" +
               kModel + "]",
           "seeds: 2\ncases: [{label: x}, {label: y, cluster: \"1xV100:2\"}]\n" + kClaims));
  ASSERT_TRUE(experiment.has_value()) << experiment.error().message;
  const std::vector<std::uint64_t> seeds = {1, 2};
  const auto runs = run_iterations(*experiment, seeds);
  ASSERT_EQ(runs.size(), 2u * 2 * 2);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ASSERT_TRUE(runs[i].has_value());
    const auto& summary = runs[i]->summary;
    for (const IterationFigure& figure : iteration_figures()) {
      EXPECT_TRUE(summary.contains(figure.key)) << figure.key;
    }
    EXPECT_EQ(summary.size(), iteration_figures().size());
    const bool spans_nodes = i % 4 < 2;  // in the first case
    EXPECT_DOUBLE_EQ(summary.at("jct_avg_s"), spans_nodes ? 0.0075 : 0.0045);
    EXPECT_DOUBLE_EQ(summary.at("makespan_s"), spans_nodes ? 0.0075 : 0.0045);
    EXPECT_DOUBLE_EQ(summary.at("queue_avg_s"), 0);
    EXPECT_DOUBLE_EQ(summary.at("gpu_busy"), spans_nodes ? 0.6 : 1);
    EXPECT_DOUBLE_EQ(summary.at("network_busy"), spans_nodes ? 0.4 : 0);
    EXPECT_DOUBLE_EQ(summary.at("network_shared"), 0);
  }
}

TEST(Iterations, ThatFindNoRoomFailTheirRun) {
  const auto experiment = read_text(with("jobs: 1, gangs: {3: 1}, models: [" + kModel + "]"));
  ASSERT_TRUE(experiment.has_value()) << experiment.error().message;
  const std::vector<std::uint64_t> seeds = {1};
  const auto runs = run_iterations(*experiment, seeds);
  ASSERT_FALSE(runs[0].has_value());
  EXPECT_EQ(runs[0].error().message, "the cluster has no room for a job of 3 GPUs of model m");
}

}  // namespace
}  // namespace fairlead
