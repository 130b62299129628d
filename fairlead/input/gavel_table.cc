// Gavel's measured throughputs; the format is in models_file.h.

#include "fairlead/base/parse.h"
#include "fairlead/input/csv_row.h"
#include "fairlead/input/models_file.h"

#include <algorithm>
#include <map>

namespace fairlead {
namespace {

constexpr std::string_view kHeader =
    "gpu_type,placement,job_type,scale_factor,colocated_job_type,colocated_scale_factor,"
    "throughput_steps_per_s,colocated_throughput_steps_per_s";

class GavelReader {
 public:
  Status read(const LineReader& lines) {
    FL_TRY(row_.read(lines));
    if (!row_["colocated_job_type"].empty()) return {};
    const Parsed<std::int64_t> gpus = parse_integer(row_["scale_factor"]);
    if (!gpus || *gpus < 1 || *gpus > 1'000'000) {
      return row_.bad("scale_factor", "must be a whole number from 1 to 1000000");
    }
    const Parsed<double> steps = parse_number(row_["throughput_steps_per_s"]);
    if (!steps || *steps < 0 || *steps > 1e12) {
      return row_.bad("throughput_steps_per_s", "must be a number from 0 to 1e12");
    }
    for (std::string_view column : {"gpu_type", "job_type"}) {
      if (row_[column].empty()) return row_.bad(column, "must not be empty");
    }
    return add(static_cast<std::uint32_t>(*gpus), *steps / static_cast<double>(*gpus));
  }

  // REQUIRES: called once, last.
  std::vector<ModelProfile> finish() {
    for (Draft& draft : drafts_) finish(draft);
    std::vector<ModelProfile> models;
    for (Draft& draft : drafts_) models.push_back(std::move(draft.profile));
    return models;
  }

 private:
  // Rates per GPU as measured: on one node, across nodes.
  struct Measured {
    std::optional<double> consolidated;
    std::optional<double> spread;
  };
  using BySize = std::map<std::uint32_t, Measured>;
  struct Draft {
    ModelProfile profile;
    std::map<std::string, BySize> types;
  };

  Status add(std::uint32_t gpus, double rate) {
    const std::string name(row_["job_type"]);
    const auto [number, is_new] = numbers_.try_emplace(name, drafts_.size());
    if (is_new) {
      drafts_.emplace_back();
      drafts_.back().profile.name = name;
      drafts_.back().profile.weight = 1;
    }
    Measured& at = drafts_[number->second].types[std::string(row_["gpu_type"])][gpus];
    const std::string_view placement = row_["placement"];
    if (placement != "consolidated" && placement != "unconsolidated") {
      return row_.bad("placement", "must be consolidated or unconsolidated");
    }
    auto& cell = placement == "consolidated" ? at.consolidated : at.spread;
    if (cell) return row_.bad("job_type", "occurs twice with this type, placement and scale");
    cell = rate;
    return {};
  }

  static void finish(Draft& draft) {
    for (const auto& [type, sizes] : draft.types) {
      TypeRates& rates = draft.profile.rates.emplace_back(TypeRates{type, {}});
      for (const auto& [gpus, measured] : sizes) {
        // If only the spread gang was measured, a gang on one node is assumed to be as fast.
        rates.rows.push_back(
            {gpus, measured.consolidated.value_or(measured.spread.value_or(0)), measured.spread});
      }
    }
  }

  CsvRow row_{kHeader};
  std::map<std::string, std::size_t> numbers_;
  std::vector<Draft> drafts_;
};

}  // namespace

bool is_gavel_table(std::string_view text) { return text.starts_with(kHeader); }

Result<SpeedTable> read_gavel_table(ByteSource& source) {
  LineReader lines(source);
  FL_TRY_ASSIGN(any, lines.next());
  if (!any || lines.line() != kHeader) {
    return input_error("{}:1:1: expected the header {}: {}", source.name(), kHeader,
                       lines.line().substr(0, 80));
  }
  GavelReader reader;
  for (;;) {
    FL_TRY_ASSIGN(more, lines.next());
    if (!more) break;
    if (!lines.line().empty()) FL_TRY(reader.read(lines));
  }
  SpeedTable table;
  table.models = reader.finish();
  table.source = source.name();
  if (table.models.empty()) return input_error("{}: a table without models", source.name());
  return table;
}

}  // namespace fairlead
