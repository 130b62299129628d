#include "fairlead/input/models_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

namespace fairlead {
namespace {

std::string message(const Result<SpeedTable>& table) {
  return table ? "no error" : table.error().message;
}
std::string yaml_error(std::string_view text) {
  return message(parse_models_yaml(text, "models.yaml"));
}
Result<SpeedTable> gavel(std::string_view rows) {
  const std::string text =
      "gpu_type,placement,job_type,scale_factor,colocated_job_type,colocated_scale_factor,"
      "throughput_steps_per_s,colocated_throughput_steps_per_s\n" +
      std::string(rows);
  Result<ByteSource> source = ByteSource::memory(text, "gavel.csv");
  return read_gavel_table(*source);
}
const TypeRates* rates_of(const ModelProfile& model, std::string_view type) {
  for (const TypeRates& rates : model.rates) {
    if (rates.gpu_type == type) return &rates;
  }
  return nullptr;
}

TEST(BuiltinModels, AreThoseOfTheTalk) {
  const SpeedTable table = builtin_models();
  ASSERT_EQ(table.models.size(), 7U);
  const ModelProfile* model = table.find("ResNeXt50");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(rates_of(*model, "K80")->rows[0].consolidated, 1);
  EXPECT_EQ(rates_of(*model, "P40")->rows[0].consolidated, 3.70);
  EXPECT_EQ(rates_of(*model, "P100")->rows[0].consolidated, 4.12);
  EXPECT_EQ(rates_of(*model, "V100")->rows[0].consolidated, 6.33);
  EXPECT_EQ(table.find("resnext50"), nullptr);
  for (const ModelProfile& profile : table.models) EXPECT_EQ(profile.weight, 0) << profile.name;
}

TEST(BuiltinModels, AllTablesLoadAndCiteTheirSource) {
  ASSERT_GE(model_tables().size(), 2U);
  for (const std::string& name : model_tables()) {
    const Result<SpeedTable> table = load_models(name);
    ASSERT_TRUE(table) << message(table);
    EXPECT_NE(table->source, name) << "no source";
  }
  EXPECT_EQ(load_models("gavel")->models.size(), 26U);
}

TEST(BuiltinModels, WithMeasuredGangsAreAsUnevenAsTheMeasurements) {
  const Result<SpeedTable> table = load_models("published");
  ASSERT_TRUE(table) << message(table);
  EXPECT_EQ(table->models.size(), 26U);
  const std::vector<RateRow>& lm = rates_of(*table->find("LM (batch size 20)"), "V100")->rows;
  ASSERT_EQ(lm.size(), 4U);
  EXPECT_EQ(lm[3].gpus, 8U);
  EXPECT_EQ(lm[3].consolidated * 8, 497.295);
  EXPECT_EQ(*lm[3].spread * 8, 58.888);
  EXPECT_FALSE(lm[0].spread.has_value());
  EXPECT_LT(lm[2].consolidated, lm[1].consolidated) << "four GPUs are slower than two";
  EXPECT_GT(lm[3].consolidated, lm[2].consolidated) << "eight are faster per GPU than four";
  const std::vector<RateRow>& resnet =
      rates_of(*table->find("ResNet-50 (batch size 64)"), "V100")->rows;
  EXPECT_GT(*resnet[2].spread, resnet[2].consolidated) << "four are faster across nodes";
}

// compute_ms is the time of exactly the iteration whose rate is in the same row.
TEST(BuiltinModels, ComputeAsLongAsTheirRatesSay) {
  for (const char* name : {"gavel", "published", "wang"}) {
    const SpeedTable table = *load_models(name);
    std::size_t told = 0;
    for (const ModelProfile& model : table.models) {
      if (!model.communication) continue;
      const double rate = rates_of(model, "V100")->rows[0].consolidated;
      EXPECT_NEAR(model.communication->compute_ms, 1000 / rate, 0.01) << model.name;
      ++told;
    }
    EXPECT_GE(told, 4U) << name;
  }
  const SpeedTable slides = *load_models("slides");
  EXPECT_EQ(slides.find("ResNet50")->communication->compute_ms, 134);
  EXPECT_EQ(slides.find("VAE")->communication, std::nullopt);
}

// The two tables agree on their common entries for one GPU.
TEST(BuiltinModels, AgreeOnSingleGpus) {
  const SpeedTable single = *load_models("gavel");
  const SpeedTable published = *load_models("published");
  ASSERT_EQ(single.models.size(), published.models.size());
  for (const ModelProfile& model : single.models) {
    const ModelProfile* other = published.find(model.name);
    ASSERT_NE(other, nullptr) << model.name;
    EXPECT_EQ(other->weight, model.weight);
    for (const TypeRates& rates : model.rates) {
      EXPECT_EQ(rates_of(*other, rates.gpu_type)->rows[0].consolidated, rates.rows[0].consolidated)
          << model.name << " " << rates.gpu_type;
    }
  }
}

TEST(ModelsYaml, ReadsEverythingAModelCanHave) {
  const Result<SpeedTable> table = parse_models_yaml(
      "source: a test\n"
      "models:\n"
      "  - name: big\n"
      "    weight: 2.5\n"
      "    rates:\n"
      "      K80: 1\n"
      "      V100: [{gpus: 1, consolidated: 5}, {gpus: 4, consolidated: 4, spread: 0}]\n"
      "    locality: {rack: 0.8, spine: 0.4}\n"
      "    communication: {bytes_mb: 99.2, compute_ms: 62, overlap: 0.5, gpu_type: v100}\n"
      "    costs: {start_s: 10, migrate_s: 30.5}\n"
      "  - {name: small, rates: {K80: 0}}\n",
      "a.yaml");
  ASSERT_TRUE(table) << message(table);
  EXPECT_EQ(table->source, "a test");
  const ModelProfile& big = table->models[0];
  EXPECT_EQ(big.weight, 2.5);
  EXPECT_EQ(rates_of(big, "K80")->rows.size(), 1U);
  const RateRow& four = rates_of(big, "V100")->rows[1];
  EXPECT_EQ(four.gpus, 4U);
  EXPECT_EQ(four.consolidated, 4);
  EXPECT_EQ(four.spread, 0.0);
  EXPECT_FALSE(rates_of(big, "V100")->rows[0].spread.has_value());
  EXPECT_EQ(big.locality, (std::array<double, kTiers>{1, 1, 0.8, 0.4}));
  EXPECT_EQ(big.communication->gradients_mb, 99.2);
  EXPECT_EQ(big.communication->compute_ms, 62);
  EXPECT_EQ(big.communication->overlap, 0.5);
  EXPECT_EQ(big.communication->gpu_type, "V100");
  EXPECT_EQ(big.costs.start_s, 10.0);
  EXPECT_EQ(big.costs.migrate_s, 30.5);
  EXPECT_FALSE(big.costs.suspend_s.has_value());
  EXPECT_EQ(table->models[1].weight, 0);
}

TEST(ModelsYaml, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(yaml_error("models: {a: b: c}"),
            "models.yaml:1:14: not valid YAML: end of map flow not found");
  EXPECT_EQ(yaml_error("source: x"), "models.yaml:1:1: the key is missing here: models");
  EXPECT_EQ(yaml_error("models: []"),
            "models.yaml:1:9: expected a list with at least one item: a list");
  EXPECT_EQ(yaml_error("models: [{name: a}]"), "models.yaml:1:10: the key is missing here: rates");
  EXPECT_EQ(yaml_error("models: [{rates: {K80: 1}}]"),
            "models.yaml:1:10: the key is missing here: name");
  EXPECT_EQ(yaml_error("models: [{name: a, rates: {}}]"),
            "models.yaml:1:27: a model needs the rate of at least one GPU type");
  EXPECT_EQ(yaml_error("models: [{name: a, speed: 3}]"),
            "models.yaml:1:20: unknown key; known here are name, also, weight, rates, "
            "locality, communication, costs: speed");
  EXPECT_EQ(yaml_error("models: [{name: a, also: [GPT], rates: {K80: 1}}]"),
            "models.yaml:1:27: must be a part of a name, in lower case: GPT");
  EXPECT_EQ(yaml_error("models: [{name: a, rates: {K80: 1}, communication: {bytes_mb: 1}}]"),
            "models.yaml:1:52: the key is missing here: compute_ms");
  EXPECT_EQ(yaml_error("models: [{name: a, rates: {K80: 1},\n"
                       "communication: {bytes_mb: 1, compute_ms: 2, overlap: 1.5}}]"),
            "models.yaml:2:54: expected a number from 0 to 1: 1.5");
  EXPECT_EQ(yaml_error("models: [{name: a, rates: {K80: 1},\n"
                       "communication: {bytes_mb: 1, compute_ms: 2, gpu_type: T4}}]"),
            "models.yaml:2:55: the model has no rate of this GPU type: T4");
  EXPECT_EQ(yaml_error("models: [{name: a, rates: {K80: -1}}]"),
            "models.yaml:1:33: expected a number from 0 to 1000000000000: -1");
  EXPECT_EQ(yaml_error("models: [{name: a, rates: {K80: fast}}]"),
            "models.yaml:1:33: expected a number from 0 to 1000000000000: fast");
  EXPECT_EQ(yaml_error("models: [{name: a, rates: {K80: [{gpus: 0, consolidated: 1}]}}]"),
            "models.yaml:1:41: expected a whole number from 1 to 1000000: 0");
  EXPECT_EQ(yaml_error("models:\n- name: a\n  rates:\n    K80:\n    - {gpus: 2, consolidated: 1}\n"
                       "    - {gpus: 2, consolidated: 1}\n"),
            "models.yaml:6:7: gang sizes must increase: 2");
  EXPECT_EQ(yaml_error("models: [{name: a, rates: {K80: 1}, locality: {rack: 0}}]"),
            "models.yaml:1:54: expected a number from 1e-06 to 1000000: 0");
  EXPECT_EQ(yaml_error("models: [{name: a, rates: {K80: 1}, costs: {start_s: -1}}]"),
            "models.yaml:1:54: expected a number from 0 to 1000000: -1");
  EXPECT_EQ(yaml_error("models: [{name: a, weight: -1, rates: {K80: 1}}]"),
            "models.yaml:1:28: expected a number from 0 to 1000000: -1");
  EXPECT_EQ(yaml_error("models:\n- {name: a, rates: {K80: 1}}\n- {name: a, rates: {K80: 1}}\n"),
            "models.yaml:3:3: two models have the same name: a");
  EXPECT_EQ(yaml_error("models: [{name: a, rates: {K80: 1, k80: 2}}]"),
            "models.yaml:1:41: this GPU type occurs twice: k80");
}

TEST(LoadModels, SaysWhatATableCanBe) {
  const std::string error = message(load_models("gavle"));
  EXPECT_EQ(
      error,
      "models come from a built-in table (gavel, horovod, modern, published, slides, wang) or a "
      "file, and this "
      "is "
      "neither: "
      "gavle");
}

TEST(GavelTable, ReadsRatesPerGpu) {
  const Result<SpeedTable> table = gavel(
      "k80,consolidated,LM,1,,,10,\n"
      "k80,consolidated,LM,1,A3C,1,5,5\n"
      "v100,consolidated,LM,4,,,200,\n"
      "v100,consolidated,LM,1,,,60,\n"
      "v100,unconsolidated,LM,4,,,0,\n"
      "v100,unconsolidated,A3C,1,,,7,\n");
  ASSERT_TRUE(table) << message(table);
  ASSERT_EQ(table->models.size(), 2U);
  const ModelProfile& lm = table->models[0];
  EXPECT_EQ(lm.weight, 1);
  EXPECT_EQ(rates_of(lm, "k80")->rows[0].consolidated, 10);
  const std::vector<RateRow>& v100 = rates_of(lm, "v100")->rows;
  ASSERT_EQ(v100.size(), 2U);
  EXPECT_EQ(v100[0].gpus, 1U);
  EXPECT_EQ(v100[1].consolidated, 50);
  EXPECT_EQ(v100[1].spread, 0.0);
  EXPECT_EQ(rates_of(table->models[1], "v100")->rows[0].consolidated, 7);
}

TEST(GavelTable, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(message(gavel("")), "gavel.csv: a table without models");
  EXPECT_EQ(message(gavel("k80,consolidated,LM\n")), "gavel.csv:2:1: a row must have 8 fields: 3");
  EXPECT_EQ(message(gavel("k80,consolidated,LM,0,,,10,\n")),
            "gavel.csv:2:21: scale_factor must be a whole number from 1 to 1000000: 0");
  EXPECT_EQ(message(gavel("k80,consolidated,LM,1,,,-1,\n")),
            "gavel.csv:2:25: throughput_steps_per_s must be a number from 0 to 1e12: -1");
  EXPECT_EQ(message(gavel("k80,near,LM,1,,,1,\n")),
            "gavel.csv:2:5: placement must be consolidated or unconsolidated: near");
  EXPECT_EQ(message(gavel(",consolidated,LM,1,,,1,\n")),
            "gavel.csv:2:1: gpu_type must not be empty: ");
  EXPECT_EQ(message(gavel("k80,consolidated,LM,1,,,1,\nk80,consolidated,LM,1,,,1,\n")),
            "gavel.csv:3:18: job_type occurs twice with this type, placement and scale: LM");
}

TEST(GavelTable, LoadsThePublishedTableInFull) {
  const char* root = std::getenv("FAIRLEAD_SHARED");
  const std::string path =
      std::string(root == nullptr ? "../shared" : root) + "/data/profiles/gavel_throughputs.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no published table at " << path;
  const Result<SpeedTable> table = load_models(path);
  ASSERT_TRUE(table) << message(table);
  EXPECT_EQ(table->models.size(), 26U);
  const ModelProfile* lm = table->find("LM (batch size 20)");
  ASSERT_NE(lm, nullptr);
  const RateRow& eight = rates_of(*lm, "v100")->rows.back();
  EXPECT_EQ(eight.gpus, 8U);
  EXPECT_NEAR(eight.consolidated * 8, 497.295, 1e-3);
  EXPECT_NEAR(*eight.spread * 8, 58.888, 1e-3);
  // Out of memory.
  const ModelProfile* resnet = table->find("ResNet-50 (batch size 128)");
  ASSERT_NE(resnet, nullptr);
  EXPECT_EQ(rates_of(*resnet, "k80")->rows.back().consolidated, 0);
}

// The retyped single-GPU figures agree with the published table.
TEST(GavelTable, AgreesWithTheBuiltInOne) {
  const char* root = std::getenv("FAIRLEAD_SHARED");
  const std::string path =
      std::string(root == nullptr ? "../shared" : root) + "/data/profiles/gavel_throughputs.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no published table at " << path;
  const SpeedTable published = *load_models(path);
  const SpeedTable built_in = *load_models("gavel");
  for (const ModelProfile& ours : built_in.models) {
    const ModelProfile* theirs = published.find(ours.name);
    ASSERT_NE(theirs, nullptr) << ours.name;
    for (const auto& [type, key] : {std::pair("V100", "v100"), {"P100", "p100"}, {"K80", "k80"}}) {
      EXPECT_NEAR(rates_of(ours, type)->rows[0].consolidated,
                  rates_of(*theirs, key)->rows[0].consolidated, 6e-4)
          << ours.name << " " << type;
    }
  }
}

Workload nameless_jobs(std::size_t count) {
  Workload workload;
  workload.jobs.model.resize(count);
  return workload;
}
SpeedTable weighted(std::vector<double> weights) {
  SpeedTable table;
  for (double weight : weights) {
    ModelProfile model;
    model.name = fmt::format("m{}", table.models.size());
    model.weight = weight;
    table.models.push_back(std::move(model));
  }
  return table;
}
std::map<std::string, int> count_models(const Workload& workload) {
  std::map<std::string, int> count;
  for (ModelId model : workload.jobs.model) {
    ++count[model.is_none() ? "" : workload.models[model]];
  }
  return count;
}

TEST(DrawModels, DrawsByWeight) {
  Workload workload = nameless_jobs(10'000);
  draw_models(workload, weighted({1, 0, 3}), 42);
  std::map<std::string, int> count = count_models(workload);
  EXPECT_NEAR(count["m2"], 7500, 200);
  EXPECT_EQ(count["m0"] + count["m2"], 10'000);
}

TEST(DrawModels, RepeatsWithTheSameSeedOnly) {
  const auto drawn = [](std::uint64_t seed) {
    Workload workload = nameless_jobs(50);
    draw_models(workload, weighted({1, 1}), seed);
    std::vector<std::string> names;
    for (ModelId model : workload.jobs.model) names.push_back(workload.models[model]);
    return names;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

TEST(DrawModels, LeavesNamedModelsAloneAndUsesTheirNumbers) {
  Workload workload = nameless_jobs(3);
  const ModelId own = workload.models.push_back("own");
  const ModelId m0 = workload.models.push_back("m0");
  workload.jobs.model[JobId(1)] = own;
  draw_models(workload, weighted({1}), 1);
  EXPECT_EQ(workload.jobs.model[JobId(0)], m0);
  EXPECT_EQ(workload.jobs.model[JobId(1)], own);
  EXPECT_EQ(workload.models.size(), 2U);
}

TEST(DrawModels, DrawsNothingFromATableWithoutWeights) {
  Workload workload = nameless_jobs(3);
  draw_models(workload, weighted({0, 0}), 1);
  EXPECT_EQ(count_models(workload)[""], 3);
  EXPECT_TRUE(workload.models.empty());
}

}  // namespace
}  // namespace fairlead
