// The report: its embedded data is the run, with any names of jobs and users.

#include "fairlead/report/testing_page.h"

#include "program.h"

namespace fairlead {
namespace {

using nlohmann::json;

class ReportTest : public ProgramTest {
 protected:
  // Takes a short page, in which the data is found quickly.
  Ended report(const std::string& arguments) const {
    write("page.html", "<html><script>__FAIRLEAD_REPORT_DATA__</script></html>");
    return fairlead("report --page page.html " + arguments);
  }
  json data_of(std::string_view name) const {
    return json::parse(report_data_of(read(name), "<script>", "</script>"), nullptr, false);
  }
};

TEST_F(ReportTest, EmbedsWhatHappenedInARun) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("--set costs=none")).exit_code, 0);
  const Ended ended = report("out");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_TRUE(ended.out.starts_with("out/report.html: 1 run of 4 jobs, ")) << ended.out;
  const std::string html = read("out/report.html");
  EXPECT_TRUE(html.starts_with("<html><script>") && html.ends_with("</script></html>"));

  const json data = data_of("out/report.html");
  EXPECT_EQ(data["title"], "out");
  EXPECT_EQ(data["cluster"]["name"], "1xV100:4");
  EXPECT_EQ(data["users"], json({"ann", "bob"}));
  EXPECT_EQ(data["jobs"]["id"], json({"a", "b", "c", "d"}));
  EXPECT_EQ(data["jobs"]["submit_s"], json({0, 10, 20, 30}));
  ASSERT_EQ(data["runs"].size(), 1u);
  const json& run = data["runs"][0];
  EXPECT_EQ(run["folder"], ".");
  EXPECT_EQ(run["label"], "fifo");
  EXPECT_EQ(run["summary"], read_json("out/summary.json"));
  EXPECT_EQ(run["outcome"]["start_s"], json({0, 100, 100, 150}));
  EXPECT_EQ(run["outcome"]["finish_s"], json({100, 150, 150, 155.5}));
  EXPECT_EQ(run["outcome"]["status"], json({0, 0, 0, 0}));
  EXPECT_EQ(run["holds"], json::parse(R"({"resolution_s": 0, "job_step": [0, 1, 1, 1],
    "gpu": [0, 0, 2, 0], "gpus": [4, 2, 2, 1], "begin_step_s": [0, 100, 0, 50],
    "for_s": [100, 50, 50, 5.5], "tier": [1, 0, 0, 0]})"));
  EXPECT_FALSE(data.contains("comparison"));
  EXPECT_FALSE(data.contains("answer"));
  EXPECT_EQ(run["load"]["bin_s"], 1);
  EXPECT_EQ(run["load"]["gpus_held"].size(), 156u);
  EXPECT_EQ(run["load"]["gpus_fragmented"][155], 3);
  EXPECT_EQ(run["shares"]["user"], json({0, 1}));
  EXPECT_EQ(run["shares"]["entitled"][1][15], 2);
}

TEST_F(ReportTest, PutsThePoliciesOfAComparisonSideBySide) {
  small_trace();
  ASSERT_EQ(fairlead("compare --cluster 1xV100:4 --trace jobs.csv --out cmp --policies "
                     "'srtf;fifo;fifo:skip=true;fifo'")
                .exit_code,
            0);
  const Ended ended = report("cmp/ -o here.html");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(read("cmp/report.html"), "");  // it went elsewhere
  const json data = data_of("here.html");
  EXPECT_EQ(data["title"], "cmp");
  ASSERT_EQ(data["runs"].size(), 4u);
  std::vector<std::string> labels;
  for (const json& run : data["runs"]) labels.push_back(run["label"]);
  EXPECT_EQ(labels, (std::vector<std::string>{"srtf", "fifo", "fifo:skip=true", "fifo (fifo~2)"}));
  EXPECT_EQ(data["runs"][2]["folder"], "fifo-skip=true");
  EXPECT_EQ(data["answer"], read_json("cmp/compare.json")["answer"]);
  EXPECT_TRUE(data["answer"][0].get<std::string>().starts_with("Shortest mean wait: srtf, "))
      << data["answer"];
  EXPECT_EQ(data["runs"][1]["inputs_hash"], read_json("cmp/fifo/run.json")["inputs_hash"]);
  EXPECT_TRUE(data["runs"][1]["command"].get<std::string>().starts_with("fairlead simulate "));
}

TEST_F(ReportTest, TakesTheFirstSeedOfEachPolicyAndSaysSo) {
  small_trace();
  ASSERT_EQ(fairlead("compare --cluster 1xV100:4 --trace jobs.csv --out cmp --policies 'fifo;sjf' "
                     "--seeds 3 --seed 9")
                .exit_code,
            0);
  const Ended ended = report("cmp");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("the first seed of each policy only; 4 other runs are figures"),
            std::string::npos)
      << ended.out;
  const json data = data_of("cmp/report.html");
  ASSERT_EQ(data["runs"].size(), 2u);
  EXPECT_EQ(data["runs"][0]["label"], "fifo, seed 9");
  EXPECT_EQ(data["runs"][1]["folder"], "sjf/seed-9");
  EXPECT_EQ(data["runs"][1]["summary"]["seed"], 9);
  const json& points = data["comparison"]["points"];
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0]["point"], json::object());
  const json& sjf = points[0]["policies"][1];
  EXPECT_EQ(sjf["policy"], "sjf");
  EXPECT_EQ(sjf["seeds"], 3);
  const json made = read_json("cmp/compare.json")["policies"][1];
  for (const char* figures : {"mean", "min", "max"}) EXPECT_EQ(sjf[figures], made[figures]);
}

TEST_F(ReportTest, ShowsAllPointsOfASweepAndDetailsOfTheFirst) {
  small_trace();
  ASSERT_EQ(fairlead("compare --cluster 1xV100:4 --trace jobs.csv --out cmp --policies 'fifo;sjf' "
                     "--sweep start_s=1,2")
                .exit_code,
            0);
  const Ended all = report("cmp");
  ASSERT_EQ(all.exit_code, 0) << all.errors;
  EXPECT_NE(all.out.find("details of the first point, start_s=1; "), std::string::npos) << all.out;
  const json data = data_of("cmp/report.html");
  ASSERT_EQ(data["runs"].size(), 2u);
  EXPECT_EQ(data["runs"][1]["folder"], "start_s=1/sjf");
  EXPECT_EQ(data["runs"][1]["label"], "sjf");
  const json& points = data["comparison"]["points"];
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1]["point"], json({{"start_s", 2}}));
  EXPECT_EQ(points[1]["policies"][0]["seeds"], 1);
  EXPECT_EQ(points[1]["policies"][0]["mean"]["finished"], 4);
  ASSERT_EQ(report("cmp/start_s=1").exit_code, 0);
  const json own = data_of("cmp/start_s=1/report.html");
  EXPECT_EQ(own["runs"].size(), 2u);
  EXPECT_FALSE(own.contains("comparison"));
}

TEST_F(ReportTest, FindsTheRunsOfAnyFolder) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  std::filesystem::create_directories(path("two/empty"));
  std::filesystem::copy(path("out"), path("two/b"));
  std::filesystem::copy(path("out"), path("two/a"));
  ASSERT_EQ(report("two").exit_code, 0);
  const json data = data_of("two/report.html");
  ASSERT_EQ(data["runs"].size(), 2u);
  EXPECT_EQ(data["runs"][0]["label"], "a");
}

TEST_F(ReportTest, ShowsTradesAndQueues) {
  ASSERT_EQ(fairlead("trace generate --jobs 60 --cluster 1xV100:4 --load 2 --seed 2 -o jobs.csv")
                .exit_code,
            0);
  ASSERT_EQ(fairlead("simulate --cluster 1xV100:4 --trace jobs.csv --policy tiresias --out out")
                .exit_code,
            0);
  ASSERT_EQ(report("out").exit_code, 0);
  const json run = data_of("out/report.html")["runs"][0];
  EXPECT_GT(run["notes"]["kind"].size(), 0u);
  for (const json& kind : run["notes"]["kind"]) EXPECT_EQ(kind, 0);
  int preemptions = 0;
  for (const json& count : run["outcome"]["preemptions"]) preemptions += count.get<int>();
  EXPECT_EQ(preemptions, run["summary"]["preemptions"]);
  EXPECT_GT(preemptions, 0);
}

TEST_F(ReportTest, NamesCannotBreakOutOfTheData) {
  const std::string markup = "</script><img src=x onerror=alert(1)>";
  write("jobs.csv", "job,user,model,gpus,submit_s,duration_s\n\"" + markup +
                        "\",\"a\"\"'\\,b\",=1+1,1,0,10\n\xf0\x9f\x9a\x80,\xe2\x80\xae"
                        "abc,,1,0,10\nbroken\xff\xc3,x\xed\xa0\x80,,1,0,10\n");
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  ASSERT_EQ(report("out").exit_code, 0);
  const std::string html = read("out/report.html");
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(html.find("</script>"), html.rfind("</script>"));
  const json data = data_of("out/report.html");
  ASSERT_FALSE(data.is_discarded());
  EXPECT_EQ(data["jobs"]["id"][0], markup);
  EXPECT_EQ(data["users"][0], "a\"'\\,b");
  EXPECT_EQ(data["models"][0], "=1+1");
  EXPECT_EQ(data["jobs"]["id"][1], "\xf0\x9f\x9a\x80");
  EXPECT_EQ(data["users"][1],
            "\xe2\x80\xae"
            "abc");
  // Invalid UTF-8 in the trace is replaced.
  EXPECT_EQ(data["jobs"]["id"][2], "broken\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_F(ReportTest, RefusesWhatIsNoResult) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  std::filesystem::create_directories(path("empty"));
  EXPECT_NE(report("gone").errors.find("gone: no such folder"), std::string::npos);
  EXPECT_NE(report("jobs.csv").errors.find("jobs.csv: no such folder"), std::string::npos);
  const Ended empty = report("empty");
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_NE(empty.errors.find("empty: neither results of simulate nor of compare"),
            std::string::npos)
      << empty.errors;
  EXPECT_EQ(report("").exit_code, 2);
  EXPECT_EQ(report("out -o gone/report.html").exit_code, 1);
  write("page.html", "nothing");
  EXPECT_EQ(fairlead("report --page page.html out").exit_code, 2);
  EXPECT_EQ(fairlead("report --page gone.html out").exit_code, 2);
}

TEST_F(ReportTest, RefusesDamagedResultsAndLeavesNothing) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  const std::string journal = read("out/journal.flj");
  for (std::size_t cut : {std::size_t{0}, std::size_t{3}, journal.size() / 2, journal.size() - 1}) {
    write("out/journal.flj", journal.substr(0, cut));
    const Ended ended = report("out");
    EXPECT_EQ(ended.exit_code, 2) << cut << ended.errors;
    EXPECT_NE(ended.errors.find("out/journal.flj: "), std::string::npos) << ended.errors;
  }
  write("out/journal.flj", journal);
  write("out/summary.json", "{");
  EXPECT_EQ(report("out").exit_code, 1);
  EXPECT_EQ(files("out").size(), 6u);
}

TEST_F(ReportTest, RefusesRunsOfDifferentJobs) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  std::filesystem::create_directories(path("two"));
  std::filesystem::copy(path("out"), path("two/a"));
  ASSERT_EQ(fairlead(simulate("--until 15")).exit_code, 0);
  std::filesystem::copy(path("out"), path("two/b"));
  const Ended ended = report("two");
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.errors.find("unlike: b"), std::string::npos) << ended.errors;
  EXPECT_EQ(files("two").size(), 2u);
}

TEST_F(ReportTest, HelpTeaches) {
  const Ended ended = fairlead("report --help");
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_NE(ended.out.find("fairlead report out "), std::string::npos) << ended.out;
  EXPECT_NE(fairlead("--help").out.find("report"), std::string::npos);
}

TEST_F(ReportTest, HasAPageOfItsOwnOrSaysWhyNot) {
  small_trace();
  ASSERT_EQ(fairlead(simulate("")).exit_code, 0);
  const Ended ended = fairlead("report out");
  if (ended.exit_code != 0) {
    EXPECT_EQ(ended.exit_code, 1);
    EXPECT_NE(ended.errors.find("this program has no report page: "), std::string::npos)
        << ended.errors;
    return;
  }
  const std::string html = read("out/report.html");
  const json data = json::parse(report_data_of(html, "base64\">", "<"), nullptr, false);
  EXPECT_EQ(data["version"], 2) << html.substr(0, 2000);
}

}  // namespace
}  // namespace fairlead
