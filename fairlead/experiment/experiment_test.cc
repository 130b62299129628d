#include "fairlead/experiment/experiment.h"

#include "fairlead/experiment/figures.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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

std::string with_workload(const std::string& keys) {
  return "title: t\nsource: s\nquestion: q\ncluster: 1xV100:4\npolicies: {a: fifo, b: las}\n"
         "workload: {" +
         keys + "}\n" + "claims: [{claim: c, figure: summary, key: jct_avg_s, policy: a}]\n";
}

TEST(Experiment, IsReadAsWritten) {
  const auto experiment = read_text(
      with("seeds: 3\nuntil_h: 2.5\nquantum_s: 60\nsettings: {costs: none}\nsetup: chosen"));
  ASSERT_TRUE(experiment.has_value()) << experiment.error().message;
  EXPECT_EQ(experiment->name, "e");
  EXPECT_EQ(experiment->seeds, 3);
  EXPECT_EQ(experiment->until_h, 2.5);
  EXPECT_EQ(experiment->quantum, seconds(60));
  EXPECT_EQ(experiment->cases[0].settings, std::vector<std::string>{"costs=none"});
  ASSERT_EQ(experiment->cases.size(), 1u);
  const Case& only = experiment->cases[0];
  EXPECT_EQ(only.cluster, "1xV100:4");
  EXPECT_EQ(only.policies, (Policies{{"a", "fifo"}, {"b", "las:quantum_s=60"}}));
  ASSERT_EQ(experiment->claims.size(), 1u);
  const PublishedClaim& one = experiment->claims[0];
  EXPECT_EQ(one.figure->name, "gain");
  EXPECT_EQ(one.bound, Bound::kEqual);
  EXPECT_EQ(one.expected, std::vector<std::optional<double>>{5});
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
  EXPECT_EQ(std::get<std::vector<DrawnUser>>(experiment->cases[1].workload)[1].model, "GRU");
}

// The jobs of the only case of an experiment with this workload, one line each.
std::vector<std::string> jobs_of(const std::string& workload) {
  const auto experiment = read_text(with("cases:\n  - {label: x, workload: " + workload + "}"));
  EXPECT_TRUE(experiment.has_value()) << experiment.error().message;
  std::vector<std::string> jobs;
  if (!experiment) return jobs;
  const auto drawn = make_workload(experiment->cases[0].workload, Cluster{.gpus = 8}, 1);
  EXPECT_TRUE(drawn.has_value()) << drawn.error().message;
  if (!drawn) return jobs;
  for (const JobId job : ids<JobId>(drawn->jobs.size())) {
    jobs.push_back(fmt::format("{} {}..{}..{} {} s", drawn->names[job], drawn->jobs.gpus_min[job],
                               drawn->jobs.gpus[job], drawn->jobs.gpus_max[job],
                               to_seconds(drawn->durations[job])));
  }
  return jobs;
}

TEST(Experiment, DrawsJobsByClass) {
  EXPECT_EQ(jobs_of("{classes: {jobs: 2, gangs: {4: 1}, classes: "
                    "[{name: big, gpu_hours: [8, 8], models: [VAE]}]}}"),
            (std::vector<std::string>{"big-1 4..4..4 7200 s", "big-2 4..4..4 7200 s"}));
}

TEST(Experiment, DrawsJobsAsGavelDoes) {
  EXPECT_EQ(jobs_of("{gavel: {jobs: 30, jobs_per_hour: 2.5, gangs: {1: 1}}}").size(), 30u);
}

TEST(Experiment, HasThePublishedJobsOfGavelWhateverTheSeed) {
  EXPECT_EQ(jobs_of("{gavel: {jobs: 1, jobs_per_hour: 1, gangs: {1: 7, 8: 3}, artefact_seed: 0}}"),
            std::vector<std::string>{"job-1 8..8..8 68344.35 s"});
  EXPECT_EQ(jobs_of("{gavel: {jobs: 9, gangs: {1: 1}, artefact_seed: 1, priorities: true}}").size(),
            9u);
  EXPECT_NE(error_of(with("cases:\n  - {label: x, workload: {gavel: {priorities: true}}}"))
                .find("priorities go with artefact_seed"),
            std::string::npos);
}

TEST(Experiment, StretchesWhatIsDrawn) {
  const std::string big = "[{name: big, gpu_hours: [8, 8]}]";
  EXPECT_EQ(jobs_of("{classes: {jobs: 1, gangs: {4: 1}, classes: " + big +
                    "}, elastic: {min: 1, factor: 2}}"),
            std::vector<std::string>{"big-1 1..4..8 7200 s"});
  EXPECT_EQ(jobs_of("{classes: {jobs: 1, gangs: {4: 1}, classes: " + big + "}, elastic: {min: 8}}"),
            std::vector<std::string>{"big-1 4..4..4 7200 s"});
  for (const std::string drawn : {"{sessions: {hours: 1}", "{generate: {jobs: 3}"}) {
    for (const std::string& job : jobs_of(drawn + ", elastic: {factor: 1000}}")) {
      EXPECT_NE(job.find("000 "), std::string::npos) << job;
    }
  }
}

TEST(Experiment, TakesModelsOfAPublicFile) {
  const auto experiment =
      read_text(with("settings: {costs: none, models: \"shared:data/no/such.csv\"}"));
  ASSERT_TRUE(experiment.has_value()) << experiment.error().message;
  EXPECT_EQ(experiment->cases[0].settings[1], "models=shared:data/no/such.csv")
      << "as it is reported";
  const std::vector<std::string> settings = run_settings(experiment->cases[0]);
  EXPECT_EQ(settings[0], "costs=none");
  EXPECT_EQ(settings[1], "models=" + (shared_folder() / "data/no/such.csv").string());
  EXPECT_EQ(missing_models(experiment->cases[0]), "data/no/such.csv");
  EXPECT_EQ(missing_models(read_text(with("settings: {models: gavel}"))->cases[0]), "");
}

TEST(Experiment, ACaseAddsSettings) {
  const auto experiment = read_text(with(
      "settings: {costs: none}\ncases: [{label: a}, {label: b, settings: {network: analytic}}]"));
  ASSERT_TRUE(experiment.has_value()) << experiment.error().message;
  EXPECT_EQ(experiment->cases[0].settings, std::vector<std::string>{"costs=none"});
  EXPECT_EQ(experiment->cases[1].settings,
            (std::vector<std::string>{"costs=none", "network=analytic"}));
  EXPECT_TRUE(
      read_text(with("settings: {network: analytic}\n"
                     "cases: [{label: a, settings: {congestion: \"rack:4\"}}]")))
      << "a setting may go only with one of the experiment's";
  EXPECT_NE(error_of(with("settings: {congestion: \"rack:4\"}")).find("e.yaml:7"),
            std::string::npos);
}

TEST(Experiment, MeasuresEachPolicy) {
  const auto experiment = read_text(std::string(kWorld) +
                                    "measures: [{column: JCT, figure: summary_h, key: jct_avg_s}]");
  ASSERT_TRUE(experiment.has_value()) << experiment.error().message;
  ASSERT_EQ(experiment->claims.size(), 2U) << "one for each policy";
  EXPECT_TRUE(experiment->claims[0].is_measure);
  EXPECT_EQ(experiment->claims[0].policy, "a");
  EXPECT_EQ(experiment->claims[1].policy, "b");
  EXPECT_EQ(experiment->claims[1].column, "JCT");
  const auto windows =
      read_text(std::string(kWorld) +
                "measures: [{column: worst hour, figure: window_error, window_h: 1, of: useful}]");
  ASSERT_TRUE(windows.has_value()) << windows.error().message;
  EXPECT_EQ(windows->claims[0].received, "useful");
  EXPECT_NE(error_of(std::string(kWorld) +
                     "measures: [{column: JCT, figure: summary_h, key: jct_avg_s, policy: a}]")
                .find("unknown key"),
            std::string::npos);
  EXPECT_NE(error_of(kWorld).find("claims"), std::string::npos) << "or claims";
}

TEST(Experiment, RunsAPartOfATraceInTheOrderOfSubmission) {
  const std::filesystem::path folder = testing::TempDir();
  std::ofstream(folder / "part.csv") << "job,user,gpus,submit_s,duration_s\n"
                                        "c,u,1,30,5\na,u,2,10,6\nb,v,4,20,7\n";
  const auto read_part = [&](const std::string& keys) {
    return read_experiment(with_workload("trace: part.csv, " + keys),
                           (folder / "test.yaml").string(), "test");
  };
  const auto later = read_part("jobs: [2, 3]");
  ASSERT_TRUE(later.has_value()) << later.error().message;
  const auto jobs = make_workload(later->cases[0].workload, Cluster{}, 1);
  ASSERT_TRUE(jobs.has_value()) << jobs.error().message;
  ASSERT_EQ(jobs->jobs.size(), 2U);
  EXPECT_EQ(jobs->names[JobId(0)], "b");
  EXPECT_EQ(jobs->jobs.gpus[JobId(0)], 4U);
  EXPECT_EQ(jobs->jobs.arrival[JobId(0)], Time{}) << "the part begins at 0";
  EXPECT_EQ(jobs->jobs.arrival[JobId(1)], Time{10'000});
  EXPECT_EQ(jobs->durations[JobId(1)], seconds(5));

  const auto batch = read_part("at_once: true");
  ASSERT_TRUE(batch.has_value()) << batch.error().message;
  const auto together = make_workload(batch->cases[0].workload, Cluster{}, 1);
  ASSERT_TRUE(together.has_value()) << together.error().message;
  ASSERT_EQ(together->jobs.size(), 3U);
  for (const JobId job : ids<JobId>(3)) EXPECT_EQ(together->jobs.arrival[job], Time{});

  const auto some = read_part("of_users: [v, w], submit_h: [0, 1]");
  ASSERT_TRUE(some.has_value()) << some.error().message;
  const auto of_v = make_workload(some->cases[0].workload, Cluster{}, 1);
  ASSERT_TRUE(of_v.has_value()) << of_v.error().message;
  ASSERT_EQ(of_v->jobs.size(), 1U);
  EXPECT_EQ(of_v->names[JobId(0)], "b");

  const auto none = read_part("jobs: [4, 9]");
  ASSERT_TRUE(none.has_value()) << none.error().message;
  EXPECT_FALSE(make_workload(none->cases[0].workload, Cluster{}, 1).has_value());
  EXPECT_NE(error_of(with_workload("gavel: {jobs: 5}, at_once: true")).find("belongs to a trace"),
            std::string::npos);
}

TEST(Experiment, ExpectsNothingWhereACaseHasNull) {
  const std::string cases = "cases: [{label: x}, {label: y}, {label: z}]\n";
  const auto experiment = read_text(kWorld + cases +
                                    "claims:\n  - {claim: c, figure: summary_h, key: makespan_s, "
                                    "policy: a, expect: [1.5, null, ~], tolerance_percent: 10}\n");
  ASSERT_TRUE(experiment.has_value()) << experiment.error().message;
  const PublishedClaim& only = experiment->claims[0];
  EXPECT_EQ(only.expected_in(0), 1.5);
  EXPECT_EQ(only.expected_in(1), std::nullopt);
  EXPECT_EQ(only.expected_in(2), std::nullopt);
  EXPECT_EQ(only.tolerance_percent, 10);
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
  EXPECT_EQ(
      workload("{}"),
      "folder/e.yaml:8:26: a workload is one of trace, shared, generate, sessions, gavel, classes "
      "and users");
  EXPECT_EQ(workload("{users: [{name: a}, {name: a}]}"),
            "folder/e.yaml:8:46: two users have the same name: a");
  EXPECT_EQ(workload("{sessions: {jobs: [9, 4]}}"),
            "folder/e.yaml:8:44: expected [least, most]: a list");
  EXPECT_EQ(workload("{sessions: {gangs: {0: 1}}}"),
            "folder/e.yaml:8:49: a gang has from 1 to 1000000 GPUs: 0");
  EXPECT_EQ(workload("{users: [{name: a}], elastic: {min: 1}}"),
            "folder/e.yaml:8:56: elastic belongs to a workload that is drawn");
  EXPECT_EQ(workload("{gavel: {}, elastic: {factor: 0}}"),
            "folder/e.yaml:8:56: expected a whole number from 1 to 1000: 0");
  EXPECT_EQ(workload("{gavel: {jobs_per_hour: 0.0001}}"),
            "folder/e.yaml:8:50: expected 0 (all at once), or at least 0.001: 0.0001");
  EXPECT_EQ(workload("{classes: {jobs: 4}}"),
            "folder/e.yaml:8:36: the key is missing here: classes");
  EXPECT_EQ(workload("{classes: {classes: [{name: a}]}}"),
            "folder/e.yaml:8:47: the key is missing here: gpu_hours");
  EXPECT_EQ(workload("{classes: {classes: [{name: a, gpu_hours: [2, 1]}]}}"),
            "folder/e.yaml:8:68: expected [least, most]: a list");
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
  EXPECT_TRUE(error_of(claim("figure: summary, policy: a, key: jct_s"))
                  .starts_with("folder/e.yaml:8:49: no such figure of a run (there are: jct_"))
      << error_of(claim("figure: summary, policy: a, key: jct_s"));
  EXPECT_NE(error_of(claim("figure: summary_h, policy: a, key: gpu_hours")), "")
      << "it is not in seconds";
  EXPECT_NE(error_of(claim("figure: summary, policy: a, key: gpu_busy")), "")
      << "only runs of iterations have it";
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
  EXPECT_EQ(error_of(claim("figure: work, policy: a, user: ann, expect: 1, tolerance: 2, "
                           "tolerance_percent: 3")),
            "folder/e.yaml:8:96: a claim has one tolerance");
  EXPECT_EQ(error_of(claim("figure: summary, policy: a, key: makespan_s, against_case: one")),
            "folder/e.yaml:8:75: against_case needs against");
  EXPECT_EQ(error_of(claim("figure: summary, policy: a, key: makespan_s, against: b, "
                           "against_case: one")),
            "folder/e.yaml:8:87: no case has this label: one");
  EXPECT_EQ(error_of(claim("figure: work, policy: a, user: ann, over_cases: true")),
            "folder/e.yaml:8:64: summary.json has no figure work");
  EXPECT_EQ(error_of(claim("figure: work, policy: a, user: ann, expect: null")),
            "folder/e.yaml:8:60: expected a number from -1000000000000000 to 1000000000000000: "
            "nothing");
  EXPECT_EQ(error_of(claim("figure: window_jct, policy: a, first_job: 3, last_job: 2")),
            "folder/e.yaml:8:71: expected first_job or more: 2");
  EXPECT_EQ(error_of(claim("figure: window_jct, policy: a, first_job: 3")),
            "folder/e.yaml:8:5: the key is missing here: last_job");
  EXPECT_EQ(error_of(claim("figure: window_error, policy: a, window_h: 1, of: owned")),
            "folder/e.yaml:8:66: expected held, useful or effective: owned");
  EXPECT_EQ(error_of(claim("figure: idle_when_wanted, policy: a, of: held")),
            "folder/e.yaml:8:57: the figure idle_when_wanted takes no of");
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
