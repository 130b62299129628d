#include "fairlead/input/models_file.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

Result<SpeedTable> read(std::string_view text) {
  Result<ByteSource> source = ByteSource::memory(text, "m.csv");
  return read_measured_table(*source);
}

std::string error_of(std::string_view text) {
  const Result<SpeedTable> table = read(text);
  return table ? "" : table.error().message;
}

TEST(MeasuredTable, HasRatesPerGpuOfWholeGangs) {
  const Result<SpeedTable> table = read(
      "model,gpu_type,gpus,samples_per_s,placement,source,estimated\n"
      "llm,A100,8,400,,ours,\n"
      "llm,A100,1,60,node,ours,\n"
      "llm,A100,8,240,spread,ours,\n"
      "llm,H100,8,800,,,by peak FLOPS\n"
      "cnn,A100,1,7,,,\n");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->models.size(), 2U);
  const ModelProfile& llm = table->models[0];
  EXPECT_EQ(llm.name, "llm");
  EXPECT_EQ(llm.weight, 1);
  ASSERT_EQ(llm.rates.size(), 2U);
  ASSERT_EQ(llm.rates[0].rows.size(), 2U);
  EXPECT_EQ(llm.rates[0].rows[0].gpus, 1U);
  EXPECT_EQ(llm.rates[0].rows[1].consolidated, 50);
  EXPECT_EQ(llm.rates[0].rows[1].spread, 30);
  EXPECT_EQ(llm.rates[0].source, "ours");
  EXPECT_EQ(llm.rates[1].estimated, "by peak FLOPS");
  EXPECT_EQ(table->models[1].rates[0].rows[0].consolidated, 7);
}

TEST(MeasuredTable, IsToldByItsHeader) {
  EXPECT_TRUE(is_measured_table("samples_per_s,gpu_type,model\n"));
  EXPECT_FALSE(is_measured_table("models: [{name: model, rates: {gpu_type: 1}}]\n"));
  EXPECT_FALSE(is_gavel_table("model,gpu_type,samples_per_s\n"));
}

TEST(MeasuredTable, NamesWhatIsWrong) {
  constexpr std::string_view kHeader = "model,gpu_type,samples_per_s,gpus,placement\n";
  const auto row = [&](std::string_view text) {
    return error_of(std::string(kHeader) + std::string(text));
  };
  EXPECT_EQ(error_of("model,gpu_type\n"), "m.csv:1: the header lacks the column: samples_per_s");
  EXPECT_EQ(error_of("model,gpu_type,samples_per_s,speed\n"), "m.csv:1: unknown column: speed");
  EXPECT_EQ(error_of(kHeader), "m.csv: a table without models");
  EXPECT_EQ(row("m,A100,fast,1,\n"), "m.csv:2:8: samples_per_s must be a number from 0 to 1e12");
  EXPECT_EQ(row("m,A100,-1,1,\n"), "m.csv:2:8: samples_per_s must be a number from 0 to 1e12");
  EXPECT_EQ(row("m,A100,5,0,\n"), "m.csv:2:10: gpus must be a whole number from 1 to 1000000");
  EXPECT_EQ(row(",A100,5,1,\n"), "m.csv:2:1: model must not be empty: ");
  EXPECT_EQ(row("m,A100,5,1,far\n"), "m.csv:2:12: placement must be node or spread: far");
  EXPECT_EQ(
      row("m,A100,5,1,\nm,a100,6,1,node\n"),
      "m.csv:3:8: samples_per_s is a second value for this model, type, gang and placement: 6");
  EXPECT_EQ(row("m,A100,5\n"), "m.csv:2: a row must have as many fields as the header");
}

}  // namespace
}  // namespace fairlead
