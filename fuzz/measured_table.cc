// Measured speeds as CSV: any text gives models with rates from 0 on, or an error.

#include "fairlead/base/check.h"
#include "fairlead/input/models_file.h"

#include <cstdint>
#include <string_view>

namespace fairlead {
namespace {

void check(std::string_view text) {
  Result<ByteSource> source = ByteSource::memory(text, "fuzz.csv");
  if (!source) return;
  const Result<SpeedTable> table = read_measured_table(*source);
  if (!table) {
    FL_CHECK(table.error().message.starts_with("fuzz.csv"), "{}", table.error().message);
    return;
  }
  FL_CHECK(!table->models.empty());
  for (const ModelProfile& model : table->models) {
    FL_CHECK(!model.name.empty() && !model.rates.empty(), "model {}", model.name);
    for (const TypeRates& rates : model.rates) {
      std::uint32_t before = 0;
      for (const RateRow& row : rates.rows) {
        FL_CHECK(row.gpus > before && row.consolidated >= 0, "{} GPUs", row.gpus);
        before = row.gpus;
      }
    }
  }
}

}  // namespace
}  // namespace fairlead

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fairlead::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
