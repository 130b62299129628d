// Conformance with public simulators: every job's start, end and number of preemptions must equal
// the results of the Tiresias and Helios simulators. The trace and the cluster are the same, and
// starting and preempting cost nothing.
//
// The test finds the cases and results by itself, and prints the comparisons, and the omissions
// with their reasons. A case without any comparison fails. Without the gold folder everything is
// skipped.
#include "fairlead/base/parse.h"
#include "fairlead/policy/tiresias/tiresias.h"
#include "testing/racks.h"
#include "testing/world.h"

#include "gold_csv.h"
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <optional>
#include <set>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

// The way to compute a result here, or the reason why it is left out.
struct Recipe {
  MakePolicy make;
  std::string left_out;
};

Recipe recipe(std::string_view policy) { return {policy_named(policy), ""}; }
Recipe left_out(std::string why) { return {nullptr, std::move(why)}; }

// The schedules of the simulator with late demotions; see TiresiasOptions::late_demotion.
Recipe late(std::string_view policy) {
  auto options = tiresias_options(options_named(policy));
  FL_CHECK(options.has_value(), "{}", options.error().message);
  options->late_demotion = true;
  return {[options = *options] { return make_tiresias(options); }, ""};
}

Recipe late_by_gittins() {
  const fs::path samples = gold_folder() / "tiresias" / "yarn-gput1000.csv";
  return late("tiresias:gittins=true,gittins_file=" + samples.string());
}

// "dlas-gpu-05" promotes after half the running time, "dlas-gpu-8" after eight times it.
std::optional<std::string> promotion(std::string_view schedule) {
  constexpr std::string_view kPrefix = "dlas-gpu-";
  if (!schedule.starts_with(kPrefix)) return std::nullopt;
  if (schedule == "dlas-gpu-05") return "0.5";
  const std::string_view knob = schedule.substr(kPrefix.size());
  return parse_integer(knob) ? std::optional<std::string>(knob) : std::nullopt;
}

Recipe tiresias_recipe(const std::string& schedule, const std::string& scheme) {
  // The dlas schedules ignore the placement scheme, so all their results are results of count.
  if (schedule == "dlas-gpu") return late("tiresias");
  if (schedule == "dlas") return recipe("tiresias:unit=seconds");
  if (const auto knob = promotion(schedule)) return late("tiresias:promote=" + *knob);
  if (schedule == "dlas-gpu-gittins") return late_by_gittins();

  if (schedule == "fifo" || schedule == "fjf") {
    const std::string skip = schedule == "fjf" ? "skip=true," : "";
    if (scheme == "greedy") return left_out("the scheme is a stub in the simulator");
    // With plenty of CPUs, as here, the random schemes give the job times of count.
    return recipe("fifo:" + skip + "placement=" + (scheme == "yarn" ? "yarn" : "count"));
  }
  if (scheme == "count") {
    if (schedule == "sjf") return recipe("smallest");
    if (schedule == "shortest") return recipe("srtf");
    if (schedule == "shortest-gpu") return recipe("srsf");
  }
  return left_out("known to be wrong in the simulator");
}

Recipe helios_recipe(const std::string& policy, const std::string& placer) {
  // Helios' "random" fills nodes in index order, which is first-fit by another name.
  const std::string placement = placer == "random" ? "count" : placer;
  if (policy == "fifo" || policy == "sjf") return recipe(policy + ":placement=" + placement);
  return left_out("one-second ticks count running jobs a second longer");
}

World world_of(const std::vector<GoldJob>& jobs, std::string cluster) {
  World world{.cluster = std::move(cluster)};
  for (const GoldJob& job : jobs) {
    world.jobs.push_back(
        {.submit = {job.submit_s * 1000}, .gpus = job.gpus, .work = seconds(job.duration_s)});
  }
  return world;
}

std::map<std::string, GoldResult> our_results(const std::vector<GoldJob>& jobs,
                                              const Outcome& outcome) {
  std::map<std::string, GoldResult> results;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobOutcome& job = outcome.jobs[i];
    EXPECT_EQ(job.start.ms % 1000, 0);
    EXPECT_EQ(job.finish.ms % 1000, 0);
    results[jobs[i].id] = {job.start.ms / 1000, job.finish.ms / 1000, job.preemptions};
  }
  return results;
}

bool expect_equal(const std::map<std::string, GoldResult>& gold,
                  const std::map<std::string, GoldResult>& ours) {
  EXPECT_EQ(gold.size(), ours.size());
  int differences = 0;
  for (const auto& [id, want] : gold) {
    const GoldResult& have = ours.at(id);
    if (want == have || ++differences > 5) continue;
    ADD_FAILURE() << "job " << id << ": start " << have.start_s << " want " << want.start_s
                  << ", end " << have.end_s << " want " << want.end_s << ", preemptions "
                  << have.preemptions << " want " << want.preemptions;
  }
  return differences == 0 && gold.size() == ours.size();
}

using MakeRecipe = std::function<Recipe(const std::string& policy, const std::string& placement)>;

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    entries.push_back(entry.path());
  }
  std::ranges::sort(entries);
  return entries;
}

// Compares every result of one case; returns their number.
int compare_case(const fs::path& folder, const std::string& cluster, const MakeRecipe& make) {
  const std::string name =
      folder.parent_path().filename().string() + "/" + folder.filename().string();
  const std::vector<GoldJob> jobs = read_gold_trace(folder / "trace.csv");
  int compared = 0;
  for (const fs::path& file : sorted_entries(folder / "results")) {
    if (file.extension() != ".csv") continue;
    const std::string result = file.stem().string();
    const std::string label = "gold " + name + "/" + result;
    const std::size_t middle = result.find("__");
    const Recipe how = make(result.substr(0, middle), result.substr(middle + 2));
    if (how.make == nullptr) {
      std::cout << label << ": skipped, " << how.left_out << "\n";
      continue;
    }
    SCOPED_TRACE(label);
    const Outcome outcome = run(world_of(jobs, cluster), how.make);
    EXPECT_TRUE(outcome.problems.empty()) << outcome.problems.front();
    if (expect_equal(read_gold_results(file), our_results(jobs, outcome))) {
      std::cout << label << ": " << jobs.size() << " jobs equal\n";
    }
    ++compared;
  }
  return compared;
}

// A switch of the simulator is a rack: its nodes are behind it, and the yarn scheme keeps a gang
// behind one.
std::string tiresias_cluster(const fs::path& folder) {
  auto row = read_csv(folder / "cluster.csv").at(0);
  const std::vector<std::string> racks(
      std::stoul(row.at("num_switch")),
      fmt::format("{}xV100:{}", row.at("num_node_p_switch"), row.at("num_gpu_p_node")));
  return fmt::format("{}", fmt::join(racks, " | "));
}

// "60_job__n2g8" ran on 2 nodes of 8 GPUs.
std::string helios_cluster(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const std::size_t nodes = name.rfind("__n") + 3;
  const std::size_t gpus = name.rfind('g') + 1;
  return fmt::format("{}xV100:{}", name.substr(nodes, gpus - 1 - nodes), name.substr(gpus));
}

void compare_peer(const std::string& peer, std::string (*cluster_of)(const fs::path&),
                  const MakeRecipe& make) {
  if (!fs::exists(gold_folder() / peer)) {
    GTEST_SKIP() << "no results of this peer at " << (gold_folder() / peer).string();
  }
  for (const fs::path& folder : sorted_entries(gold_folder() / peer)) {
    if (!fs::exists(folder / "results")) continue;
    EXPECT_GT(compare_case(folder, cluster_of(folder), make), 0)
        << "nothing was compared in " << folder.filename().string();
  }
}

TEST(Gold, TheSwitchesOfTiresiasAreRacks) {
  const fs::path folder = gold_folder() / "tiresias" / "5000_job__n32g8";
  if (!fs::exists(folder)) GTEST_SKIP() << "no results at " << folder.string();
  const Cluster cluster = cluster_of(tiresias_cluster(folder)).value();
  EXPECT_EQ(cluster.rack_nodes.size(), 4U);
  EXPECT_EQ(cluster.nodes(), 32U);
  EXPECT_EQ(cluster.gpus, 256U);
}

TEST(Gold, Tiresias) { compare_peer("tiresias", tiresias_cluster, tiresias_recipe); }

TEST(Gold, Helios) { compare_peer("helios", helios_cluster, helios_recipe); }

// Runs of the released Tiresias simulator on its 60-job trace and 2 nodes of 4 GPUs, with other
// limits than the default: average JCT, end of the last job, preemptions.
struct Published {
  std::string name;
  Recipe how;
  double jct_avg_s;
  std::optional<std::int64_t> end_s;
  std::int64_t preemptions;
};

std::vector<Published> published() {
  return {
      {"dlas, limit 250", recipe("tiresias:unit=seconds,limits=250"), 562.067, 4934, 7},
      {"dlas-gpu, limit 250", late("tiresias:limits=250"), 853.967, 4806, 28},
      {"dlas-gpu, limits 250 1000", late("tiresias:limits=250/1000"), 764.200, 4806, 31},
      {"dlas-gpu, limits 500 1500", late("tiresias:limits=500/1500"), 800.567, 4880, 16},
      {"dlas-gpu-2, limits 250 1000", late("tiresias:limits=250/1000,promote=2"), 692.950, 4937,
       44},
      {"dlas-gpu-8, limits 250 1000", late("tiresias:limits=250/1000,promote=8"), 725.283, 4919,
       52},
      {"dlas-gpu-gittins", late_by_gittins(), 821.233, 4753, 88},
      {"fifo", recipe("fifo"), 1556.483, 5747, 0},
      {"fjf", recipe("fifo:skip=true"), 715.267, 4806, 0},
      {"fjf, yarn", recipe("fifo:skip=true,placement=yarn"), 782.550, std::nullopt, 0},
      {"sjf", recipe("smallest"), 725.700, 4806, 8},
      {"shortest", recipe("srtf"), 519.867, 4901, 7},
      {"shortest-gpu", recipe("srsf"), 563.383, 4962, 13},
  };
}

TEST(Gold, TiresiasWithOtherLimits) {
  const fs::path trace = gold_folder() / "tiresias" / "60_job__n4g4" / "trace.csv";
  if (!fs::exists(trace)) GTEST_SKIP() << "no trace at " << trace.string();
  const std::vector<GoldJob> jobs = read_gold_trace(trace);
  for (const Published& want : published()) {
    SCOPED_TRACE(want.name);
    const Outcome outcome = run(world_of(jobs, "2xV100:4"), want.how.make);
    double jct_sum_s = 0;
    std::int64_t end_s = 0;
    std::int64_t preemptions = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::int64_t finish_s = outcome.jobs[i].finish.ms / 1000;
      jct_sum_s += static_cast<double>(finish_s - jobs[i].submit_s);
      end_s = std::max(end_s, finish_s);
      preemptions += outcome.jobs[i].preemptions;
    }
    EXPECT_NEAR(jct_sum_s / static_cast<double>(jobs.size()), want.jct_avg_s, 0.0005);
    EXPECT_EQ(end_s, want.end_s.value_or(end_s));
    EXPECT_EQ(preemptions, want.preemptions);
  }
}

TEST(Gold, NamesThePeersItDoesNotCompareWith) {
  if (!fs::exists(gold_folder())) GTEST_SKIP() << "no gold folder at " << gold_folder().string();
  const std::set<std::string> compared = {"gavel", "helios", "shockwave", "tiresias"};
  for (const fs::path& peer : sorted_entries(gold_folder())) {
    if (!fs::is_directory(peer) || compared.contains(peer.filename().string())) continue;
    for (const fs::path& folder : sorted_entries(peer)) {
      if (!fs::is_directory(folder)) continue;
      std::cout << "gold " << peer.filename().string() << "/" << folder.filename().string()
                << ": skipped, no policy here claims to match it\n";
    }
  }
}

}  // namespace
}  // namespace fairlead
