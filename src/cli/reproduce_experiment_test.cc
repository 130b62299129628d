#include "cli/reproduce_experiment.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr const char* kWorld =
    "title: t\n"
    "source: s\n"
    "question: q\n"
    "cluster: 1xV100:4\n"
    "workload: {users: [{name: ann, jobs: 3, gangs: [1, 2]}, {name: bob, tickets: 2}]}\n"
    "policies: {a: fifo, b: \"las:quantum_s=60\"}\n";

constexpr const char* kClaims =
    "claims:\n"
    "  - {claim: c, figure: gain, policy: a, against: b, user: ann, expect: 5, tolerance: 1}\n";

Result<Experiment> read_text(const std::string& text) {
  return read_experiment(text, "folder/e.yaml", "e");
}

std::string error_of(const std::string& text) {
  const auto experiment = read_text(text);
  return experiment ? "" : experiment.error().message;
}

// The seventh line is `more`.
std::string with(const std::string& more) { return kWorld + more + "\n" + kClaims; }
std::string claim(const std::string& keys) {
  return std::string(kWorld) + "claims:\n  - {claim: c, " + keys + "}\n";
}

TEST(Experiment, IsReadAsWritten) {
  const auto experiment = read_text(
      with("seeds: 3\nuntil_h: 2.5\nquantum_s: 60\nsettings: {costs: none}\nsetup: chosen"));
  ASSERT_TRUE(experiment.has_value()) << experiment.error().message;
  EXPECT_EQ(experiment->name, "e");
  EXPECT_EQ(experiment->seeds, 3);
  EXPECT_EQ(experiment->until_h, 2.5);
  EXPECT_EQ(experiment->quantum, seconds(60));
  EXPECT_EQ(experiment->settings, std::vector<std::string>{"costs=none"});
  ASSERT_EQ(experiment->cases.size(), 1u);
  const Case& only = experiment->cases[0];
  EXPECT_EQ(only.cluster, "1xV100:4");
  EXPECT_EQ(only.policies, (Policies{{"a", "fifo"}, {"b", "las:quantum_s=60"}}));
  ASSERT_EQ(experiment->claims.size(), 1u);
  const PublishedClaim& one = experiment->claims[0];
  EXPECT_EQ(one.figure->kind, FigureKind::kGain);
  EXPECT_EQ(one.bound, Bound::kEqual);
  EXPECT_EQ(one.expected, std::vector<double>{5});
  EXPECT_EQ(one.tolerance, 1);
}

TEST(Experiment, MakesTheJobsOfItsUsers) {
  const auto experiment = read_text(with(""));
  ASSERT_TRUE(experiment.has_value()) << experiment.error().message;
  const auto workload = make_workload(experiment->cases[0].workload, Cluster{}, 1);
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  std::vector<std::string> jobs;
  for (const JobId job : ids<JobId>(workload->jobs.size())) {
    jobs.push_back(fmt::format("{} {}", workload->names[job], workload->jobs.gpus[job]));
  }
  EXPECT_EQ(jobs, (std::vector<std::string>{"ann-1 1", "ann-2 2", "ann-3 1", "bob 1"}));
  EXPECT_EQ(workload->users.tickets[UserId(1)], 2);
}

TEST(Experiment, RepeatsItselfInCases) {
  const auto experiment = read_text(
      with("cases:\n"
           "  - {label: one}\n"
           "  - {label: two, cluster: \"2xK80:4\", models: [VAE, GRU], policies: {b: srtf}}"));
  ASSERT_TRUE(experiment.has_value()) << experiment.error().message;
  ASSERT_EQ(experiment->cases.size(), 2u);
  EXPECT_EQ(experiment->cases[0].cluster, "1xV100:4");
  EXPECT_EQ(experiment->cases[1].cluster, "2xK80:4");
  EXPECT_EQ(experiment->cases[1].policies, (Policies{{"a", "fifo"}, {"b", "srtf"}}));
  EXPECT_EQ(std::get<std::vector<UserSpec>>(experiment->cases[1].workload)[1].model, "GRU");
}

TEST(Experiment, LooksForTracesBesideItself) {
  EXPECT_EQ(error_of(with("cases:\n  - {label: one, workload: {trace: jobs.csv}}")),
            "folder/e.yaml:8:36: no such file: folder/jobs.csv");
}

TEST(Experiment, SaysWhereItIsDamaged) {
  EXPECT_EQ(error_of("title: [\n").substr(0, 16), "folder/e.yaml:2:");
  EXPECT_EQ(error_of("title: t\n"), "folder/e.yaml:1:1: the key is missing here: source");
  EXPECT_TRUE(error_of(with("sedes: 3")).starts_with("folder/e.yaml:7:1: unknown key; "));
  EXPECT_EQ(error_of(with("seeds: 0")),
            "folder/e.yaml:7:8: expected a whole number from 1 to 1000: 0");
  EXPECT_TRUE(error_of(with("settings: {cost: none}"))
                  .starts_with("folder/e.yaml:7:18: --set: no such key"));
  EXPECT_EQ(error_of(with("cases:\n  - {label: x}\n  - {label: x}")),
            "folder/e.yaml:9:5: two cases have the same label: x");
  EXPECT_EQ(error_of(with("cases:\n  - {label: x, policies: {c: fifo}}")),
            "folder/e.yaml:8:26: the experiment has no policy of this label: c");
  EXPECT_EQ(error_of(with("cases:\n  - {label: x, models: [VAE]}")),
            "folder/e.yaml:8:24: models take a workload of as many users");
  EXPECT_TRUE(error_of(with("cases:\n  - {label: x, cluster: nowhere}"))
                  .starts_with("folder/e.yaml:8:25: a cluster is a preset"));
  EXPECT_EQ(error_of(kWorld), "folder/e.yaml:1:1: the key is missing here: claims");
}

TEST(Experiment, SaysWhichPolicyThereIsNot) {
  std::string text = with("");
  text.replace(text.find("fifo"), 4, "fifa");
  EXPECT_TRUE(error_of(text).starts_with("folder/e.yaml:6:15: ")) << error_of(text);
  EXPECT_NE(error_of(text).find("fifo"), std::string::npos) << error_of(text);
}

TEST(Experiment, SaysWhatIsWrongWithItsWorkload) {
  const auto workload = [](const std::string& text) {
    return error_of(with("cases:\n  - {label: x, workload: " + text + "}"));
  };
  EXPECT_EQ(workload("{}"),
            "folder/e.yaml:8:26: a workload is one of trace, shared, generate, sessions and users");
  EXPECT_EQ(workload("{users: [{name: a}, {name: a}]}"),
            "folder/e.yaml:8:46: two users have the same name: a");
  EXPECT_EQ(workload("{sessions: {jobs: [9, 4]}}"),
            "folder/e.yaml:8:44: expected [least, most]: a list");
  EXPECT_EQ(workload("{sessions: {gangs: {0: 1}}}"),
            "folder/e.yaml:8:49: a gang has from 1 to 1000000 GPUs: 0");
  EXPECT_EQ(workload("{generate: {jobs: 0}}"),
            "folder/e.yaml:8:44: expected a whole number from 1 to 10000000: 0");
}

TEST(Experiment, SaysWhatIsWrongWithAClaim) {
  EXPECT_TRUE(error_of(claim("figure: gains")).starts_with("folder/e.yaml:8:24: no such figure ("))
      << error_of(claim("figure: gains"));
  EXPECT_EQ(error_of(claim("figure: gain, policy: a, against: b")),
            "folder/e.yaml:8:5: the key is missing here: user");
  EXPECT_EQ(error_of(claim("figure: work, policy: a, user: ann, key: x")),
            "folder/e.yaml:8:57: the figure work takes no key");
  EXPECT_EQ(error_of(claim("figure: work, policy: c, user: ann")),
            "folder/e.yaml:8:38: no policy has this label (there are: a, b): c");
  EXPECT_EQ(error_of(claim("figure: work, user: ann")),
            "folder/e.yaml:8:5: the key is missing here: policy");
  EXPECT_EQ(error_of(claim("figure: work, policy: a, user: ann, at_least: 1, at_most: 2")),
            "folder/e.yaml:8:74: a claim has one of expect, at_least and at_most");
  EXPECT_EQ(error_of(claim("figure: work, policy: a, user: ann, at_most: [1, 2]")),
            "folder/e.yaml:8:61: expected one value, or one for each case");
  EXPECT_EQ(error_of(claim("figure: work, policy: a, user: ann, at_most: 1, tolerance: 2")),
            "folder/e.yaml:8:75: a tolerance belongs to expect");
  EXPECT_EQ(error_of(claim("figure: fluid_gain, user: cy")),
            "folder/e.yaml:8:42: the workload has no such user: cy");
  EXPECT_EQ(error_of(claim("figure: schedule, policy: a, quanta: 3")),
            "folder/e.yaml:8:5: the figure schedule needs the experiment's quantum_s");
}

TEST(Experiment, OfEveryNameInTheListIsSound) {
  const auto titles = builtin_experiments();
  EXPECT_FALSE(titles.empty());
  for (const ExperimentTitle& one : titles) {
    const auto experiment = load_experiment(one.name);
    EXPECT_TRUE(experiment.has_value()) << experiment.error().message;
  }
}

}  // namespace
}  // namespace fairlead
