// Checks the tables modern and of GPU types: the sources of their figures, and their predictions of figures that were
// not used for them (docs/models.md).

#include "fairlead/input/csv.h"
#include "fairlead/input/models_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

namespace fairlead {
namespace {

const TypeRates* rates_of(const ModelProfile& model, std::string_view type) {
  const auto found = std::ranges::find(model.rates, type, &TypeRates::gpu_type);
  return found == model.rates.end() ? nullptr : &*found;
}

double rate_of(const ModelProfile& model, std::string_view type) {
  const TypeRates* rates = rates_of(model, type);
  return rates == nullptr ? 0 : rates->rows.at(0).consolidated;
}

TEST(ModernTable, HasTheGpusOfToday) {
  const SpeedTable table = *load_models("modern");
  const ModelProfile* resnet = table.find("ResNet50");
  ASSERT_NE(resnet, nullptr);
  for (const char* type : {"V100", "A100", "H100", "H200", "L40S", "L4", "T4", "B200", "RTX4090"}) {
    EXPECT_GT(rate_of(*resnet, type), 0) << type;
  }
  for (const char* measured : {"V100", "A100", "H100", "RTX4090"}) {
    EXPECT_EQ(rates_of(*resnet, measured)->estimated, "") << measured;
  }
  for (const char* estimated : {"H200", "L40S", "L4", "T4", "B200"}) {
    EXPECT_NE(rates_of(*resnet, estimated)->estimated, "") << estimated;
  }
}

// data/gpu_types.yaml gives the source of its factors.
TEST(GpuTypes, AreTheMeansOfTheModernTable) {
  const SpeedTable table = *load_models("modern");
  for (const GpuFactor& type : builtin_gpu_factors().types) {
    double logs = 0;
    double models = 0;
    for (const ModelProfile& model : table.models) {
      const TypeRates* rates = rates_of(model, type.gpu_type);
      if (rates == nullptr || model.weight == 0) continue;
      logs += std::log(rates->rows[0].consolidated / rate_of(model, "H100"));
      ++models;
      EXPECT_EQ(rates->estimated.empty(), type.estimated.empty()) << type.gpu_type;
    }
    if (models == 0) continue;  // type from before 2016: its factor is from the table slides
    EXPECT_NEAR(type.factor / std::exp(logs / models), 1, 0.01) << type.gpu_type;
  }
}

// The geometric mean over the seven models, on a V100 as fast as its factor.
TEST(GpuTypes, OfBefore2016AreTheMeansOfTheSlides) {
  const SpeedTable slides = *load_models("slides");
  const GpuFactors factors = builtin_gpu_factors();
  for (const char* type : {"K80", "P40", "P100"}) {
    double logs = 0;
    for (const ModelProfile& model : slides.models) {
      logs += std::log(rate_of(model, type) / rate_of(model, "V100"));
    }
    const double mean = std::exp(logs / static_cast<double>(slides.models.size()));
    EXPECT_NEAR(factors.find(type)->factor / (factors.find("V100")->factor * mean), 1, 0.01)
        << type;
  }
}

// Time to train of MLPerf Training v4.0, of which nothing is in the tables: its medians by
// benchmark, accelerator and number of accelerators.
using Key = std::tuple<std::string, std::string, std::int64_t>;

std::map<Key, double> mlperf_medians(const std::string& path) {
  std::map<Key, std::vector<double>> times;
  Result<ByteSource> source = ByteSource::open(path);
  EXPECT_TRUE(source) << source.error().message;
  CsvReader csv(*source);
  EXPECT_TRUE(csv.read_header());
  const auto benchmark = csv.find("benchmark");
  const auto model = csv.find("accel_model");
  const auto count = csv.find("accelerators");
  const auto time = csv.find("median_ttt_s");
  while (*csv.next()) {
    const std::string accelerator(csv.text(model));
    const std::string type = accelerator.find("PCIe") != std::string::npos   ? "H100-PCIe"
                             : accelerator.find("H100") != std::string::npos ? "H100"
                                                                             : "A100";
    times[{std::string(csv.text(benchmark)), type, csv.integer(count, 1, 1'000'000)}].push_back(
        csv.number(time));
  }
  std::map<Key, double> medians;
  for (auto& [key, all] : times) {
    std::ranges::sort(all);
    medians[key] = (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2;
  }
  return medians;
}

// Predicts by the model's own row, otherwise by the factor of the GPU type.
double predicted(const std::string& benchmark, const std::string& type) {
  static const SpeedTable kTable = *load_models("modern");
  static const std::map<std::string, std::string> kModels = {
      {"resnet", "ResNet50"}, {"ssd", "SSD"}, {"bert", "BERT-large"}};
  if (const auto found = kModels.find(benchmark); found != kModels.end()) {
    const ModelProfile& model = *kTable.find(found->second);
    return rate_of(model, type) / rate_of(model, "H100");
  }
  return builtin_gpu_factors().find(type)->factor;
}

TEST(ModernTable, PredictsMlperfWithinTwentyPercentButForThoseNamed) {
  const char* shared = std::getenv("FAIRLEAD_SHARED");
  const std::string path = std::string(shared == nullptr ? "../shared" : shared) +
                           "/data/profiles/mlperf_v4.0_medians.csv";
  if (std::FILE* file = std::fopen(path.c_str(), "r"); file == nullptr) {
    GTEST_SKIP() << "no " << path;
  } else {
    std::fclose(file);
  }
  const std::map<Key, double> medians = mlperf_medians(path);
  std::set<Key> far;
  std::size_t near = 0;
  for (const auto& [key, time_s] : medians) {
    const auto& [benchmark, type, accelerators] = key;
    if (type == "H100") continue;
    const auto reference = medians.find({benchmark, "H100", accelerators});
    ASSERT_NE(reference, medians.end()) << benchmark << " " << accelerators;
    const double measured = reference->second / time_s;
    const double error = predicted(benchmark, type) / measured - 1;
    std::printf("%-16s %-9s %4d  measured %.2f  predicted %.2f  %+.0f %%\n", benchmark.c_str(),
                type.c_str(), static_cast<int>(accelerators), measured, predicted(benchmark, type),
                100 * error);
    if (std::abs(error) > 0.2) far.insert(key);
    if (std::abs(error) <= 0.2) ++near;
  }
  const std::set<Key> named = {{"bert", "H100-PCIe", 4},
                               {"bert", "H100-PCIe", 8},
                               {"dlrm_dcnv2", "H100-PCIe", 4},
                               {"llama2_70b_lora", "A100", 64}};
  EXPECT_EQ(far, named);
  EXPECT_EQ(near, 6U);
}

}  // namespace
}  // namespace fairlead
