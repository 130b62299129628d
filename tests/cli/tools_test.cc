// trace, policies, clusters, help.

#include "program.h"

#include <algorithm>

namespace fairlead {
namespace {

using nlohmann::json;

class ToolsTest : public ProgramTest {};

TEST_F(ToolsTest, HelpAndVersionGoToStandardOutput) {
  for (const char* arguments :
       {"--help", "--version", "simulate --help", "compare --help", "trace --help",
        "trace generate --help", "policies --help", "clusters --help", "models --help"}) {
    const Ended ended = fairlead(arguments);
    EXPECT_EQ(ended.exit_code, 0) << arguments;
    EXPECT_NE(ended.out, "") << arguments;
    EXPECT_EQ(ended.errors, "") << arguments;
  }
  EXPECT_NE(fairlead("simulate --help").out.find("reference_gpu"), std::string::npos);
}

TEST_F(ToolsTest, GeneratesATraceThatSimulates) {
  ASSERT_EQ(fairlead("trace generate --jobs 50 --cluster 2xV100:4 --load 0.5 --seed 4 --users 3 "
                     "--tickets 1/2 -o jobs.csv")
                .exit_code,
            0);
  const std::string first = read("jobs.csv");
  EXPECT_EQ(fairlead("trace generate --jobs 50 --cluster 2xV100:4 --load 0.5 --seed 4 --users 3 "
                     "--tickets 1/2 -o -")
                .out,
            first);
  ASSERT_EQ(
      fairlead("simulate --cluster 2xV100:4 --trace jobs.csv --policy fifo --out out").exit_code,
      0);
  EXPECT_EQ(read_json("out/summary.json")["jobs_read"], 50);
}

TEST_F(ToolsTest, RefusesToGenerateNonsense) {
  for (const char* flags :
       {"--jobs 0 --cluster 1xV100:4", "--jobs -5 --cluster 1xV100:4", "--jobs 5 --cluster gone",
        "--jobs 5 --cluster 1xV100:4 --load 0", "--jobs 5 --cluster 1xV100:4 --users 0",
        "--jobs 5 --cluster 1xV100:4 --load 1 --rate 5", "--cluster 1xV100:4"}) {
    const Ended ended = fairlead(std::string("trace generate -o jobs.csv ") + flags);
    EXPECT_EQ(ended.exit_code, 2) << flags << ended.errors;
    EXPECT_EQ(files("."), std::vector<std::string>()) << flags;
  }
}

TEST_F(ToolsTest, InspectsATrace) {
  small_trace();
  const Ended ended = fairlead("trace inspect jobs.csv --json");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_EQ(json::parse(ended.out)["jobs"], 4);
  EXPECT_NE(fairlead("trace inspect jobs.csv").out, "");
  EXPECT_EQ(fairlead("trace inspect gone.csv").exit_code, 2);
}

TEST_F(ToolsTest, TimesAreForPeopleOrInSeconds) {
  small_trace();
  EXPECT_NE(fairlead("trace inspect jobs.csv").out.find("1 min 40 s"), std::string::npos);
  EXPECT_NE(fairlead("trace inspect jobs.csv --units s").out.find("100.000"), std::string::npos);
  EXPECT_NE(fairlead(simulate("")).out.find("makespan  3 min 6 s"), std::string::npos);
  EXPECT_NE(fairlead(simulate("--units s")).out.find("makespan  185.5 s"), std::string::npos);
  EXPECT_EQ(fairlead(simulate("--units min")).exit_code, 2);
}

TEST_F(ToolsTest, ListsAreJsonForScripts) {
  const json policies = json::parse(fairlead("policies --json").out);
  const auto fifo =
      std::ranges::find_if(policies, [](const json& one) { return one["policy"] == "fifo"; });
  ASSERT_NE(fifo, policies.end());
  EXPECT_EQ((*fifo)["options"][0]["name"], "placement");
  EXPECT_EQ((*fifo)["options"][0]["choices"][1], "first-fit");
  EXPECT_EQ(json::parse(fairlead("policies tiresias --json").out)["policy"], "tiresias");
  const json clusters = json::parse(fairlead("clusters --json").out);
  const auto slides =
      std::ranges::find_if(clusters, [](const json& one) { return one["cluster"] == "slides"; });
  ASSERT_NE(slides, clusters.end());
  EXPECT_EQ((*slides)["gpus_by_type"]["V100"], 12);
  EXPECT_FALSE(json::parse(fairlead("reproduce --list --json").out).empty());
}

TEST_F(ToolsTest, ConvertsATraceToTheNativeFormat) {
  write("other.csv", "job_id,tenant,submit_s,num_gpus,duration_s\nx,vc1,3,2,60\n");
  ASSERT_EQ(fairlead("trace convert other.csv -o jobs.csv").exit_code, 0);
  EXPECT_NE(read("jobs.csv").find("\nx,vc1,,2,3,60"), std::string::npos) << read("jobs.csv");
  EXPECT_EQ(fairlead("trace convert other.csv -o gone/jobs.csv").exit_code, 1);
}

TEST_F(ToolsTest, ConvertsATableOfAnyHeaderAndHidesItsNames) {
  write("log.csv",
        "JobID;Owner;NGPUs;Queued;Ran\n9;ann;8;31.01.2026 07:01;1500,5\n7;bob;1;31.01.2026 "
        "07:00;10\n");
  const std::string mapped =
      "trace convert log.csv --columns user=Owner,submit=Queued,duration=Ran --unit ms -o -";
  EXPECT_EQ(fairlead(mapped).out,
            "job,user,model,gpus,submit_s,duration_s\n9,ann,,8,1769842860,1.501\n"
            "7,bob,,1,1769842800,0.01\n");
  EXPECT_EQ(fairlead(mapped + " --anonymise --from 2026-01-31T07:00:30").out,
            "job,user,model,gpus,submit_s,duration_s\nj1,u1,,8,60,1.501\n");
  const Ended refused = fairlead("trace convert log.csv --columns user=Ovner -o jobs.csv");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.errors.find("log.csv:1: no column for --columns user=Ovner (there are: Owner,"),
            std::string::npos)
      << refused.errors;
}

TEST_F(ToolsTest, ListsPoliciesAndTheirOptions) {
  EXPECT_NE(fairlead("policies").out.find("\nfifo "), std::string::npos);
  const Ended fifo = fairlead("policies fifo");
  EXPECT_EQ(fifo.exit_code, 0);
  EXPECT_NE(fifo.out.find("placement"), std::string::npos);
  const Ended unknown = fairlead("policies fifa");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.errors.find("fifo"), std::string::npos);
}

TEST_F(ToolsTest, EveryClusterInTheListLoads) {
  const Ended ended = fairlead("clusters");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("\nslides "), std::string::npos);
}

TEST_F(ToolsTest, ListsTheTablesOfModels) {
  const Ended ended = fairlead("models");
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  for (const char* table : {"\nslides ", "\ngavel ", "\nmodern ", "\ngpu-types "}) {
    EXPECT_NE(ended.out.find(table), std::string::npos) << ended.out;
  }
  const json tables = json::parse(fairlead("models --json").out);
  ASSERT_EQ(tables.size(), 6U);
  EXPECT_EQ(tables[5]["name"], "wang");
  EXPECT_EQ(tables[5]["gpu_types"], json({"V100"}));
}

TEST_F(ToolsTest, ShowsATableAndMarksWhatWasEstimated) {
  const Ended modern = fairlead("models modern");
  EXPECT_EQ(modern.exit_code, 0) << modern.errors;
  EXPECT_NE(modern.out.find("\nA100            1582 "), std::string::npos) << modern.out;
  EXPECT_NE(modern.out.find("~3329"), std::string::npos) << modern.out;
  EXPECT_NE(modern.out.find("\n  H200: an H100 times 1.197"), std::string::npos) << modern.out;
  EXPECT_NE(fairlead("models gpu-types").out.find("\nA100         0.551\n"), std::string::npos);
  const json types = json::parse(fairlead("models gpu-types --json").out)["types"];
  EXPECT_EQ(types.back()["name"], "B200");
  EXPECT_NE(types.back()["estimated"], "");
}

TEST_F(ToolsTest, SearchesTheTablesForAModelOrAGpuType) {
  const Ended llama = fairlead("models Llama-3-8B");
  EXPECT_EQ(llama.exit_code, 0) << llama.errors;
  EXPECT_NE(llama.out.find("modern  ~ BERT-large  V100 ~"), std::string::npos) << llama.out;
  EXPECT_NE(fairlead("models llama2").out.find("Llama2-70B-LoRA  H100 1, H200 ~1.2, B200 2.2"),
            std::string::npos);
  const Ended v100 = fairlead("models v100");
  EXPECT_NE(v100.out.find(" VAE "), std::string::npos) << v100.out;
  EXPECT_NE(v100.out.find("  K80 1.25, "), std::string::npos) << v100.out;
  const json found = json::parse(fairlead("models H200 --json").out);
  EXPECT_EQ(found["models"], json::array());
  EXPECT_EQ(found["gpu_types"].size(), 10U);
  EXPECT_EQ(found["gpu_types"][0]["table"], "modern");
  EXPECT_EQ(found["gpu_types"][0]["rates"][0]["rate_per_gpu"], 833);
  const Ended none = fairlead("models no-such");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.errors,
            "fairlead: no table, file, model or GPU type of a table (fairlead models): no-such\n");
}

TEST_F(ToolsTest, ChecksATableThatWasMeasured) {
  write("m.csv",
        "model,gpu_type,gpus,samples_per_s\n"
        "llm,A100,8,400\n"
        "llm,H100,8,9000\n"
        "llm,TPU,8,100\n");
  const Ended ended = fairlead("models m.csv --cluster 1xA100:8,1xV100:8");
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.out.find("H100 is 22.5 times as fast as A100; over many models it is 1.81 times"),
            std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("the table of GPU types does not have TPU"), std::string::npos);
  EXPECT_NE(ended.out.find("llm: no row for V100"), std::string::npos);
  const json table = json::parse(fairlead("models m.csv --json").out);
  EXPECT_EQ(table["models"][0]["rates"][0]["rate_per_gpu"], 50);
  EXPECT_EQ(table["remarks"].size(), 2U);
  EXPECT_EQ(fairlead("models nothing.csv").exit_code, 2);
  write("bad.csv", "model,gpu_type,samples_per_s\nllm,A100,fast\n");
  EXPECT_EQ(fairlead("models bad.csv").errors,
            "fairlead: bad.csv:2:10: samples_per_s must be a number from 0 to 1e12\n");
}

}  // namespace
}  // namespace fairlead
