// Measured speeds as CSV; the columns are in models_file.h.

#include "fairlead/input/csv.h"
#include "fairlead/input/models_file.h"

#include <algorithm>
#include <map>

namespace fairlead {
namespace {

constexpr std::int64_t kGangMax = 1'000'000;
constexpr double kRateMax = 1e12;

struct Columns {
  CsvReader::Column model, gpu_type, rate, gpus, placement, source, estimated;
};

Result<Columns> find_columns(CsvReader& csv) {
  FL_TRY_ASSIGN(model, csv.require("model"));
  FL_TRY_ASSIGN(gpu_type, csv.require("gpu_type"));
  FL_TRY_ASSIGN(rate, csv.require("samples_per_s"));
  const Columns columns{model,
                        gpu_type,
                        rate,
                        csv.find("gpus"),
                        csv.find("placement"),
                        csv.find("source"),
                        csv.find("estimated")};
  for (const std::string& name : csv.unused()) {
    return input_error("{}: unknown column: {}", csv.where().text(), name);
  }
  return columns;
}

// Rates per GPU: on one node, across nodes.
struct Measured {
  std::optional<double> consolidated;
  std::optional<double> spread;
};

class MeasuredReader {
 public:
  MeasuredReader(CsvReader& csv, const Columns& at) : csv_(csv), at_(at) {}

  Status read_row() {
    FL_TRY_ASSIGN(gpus, gang());
    FL_TRY_ASSIGN(rate, rate_of_gang());
    const std::string model(csv_.text(at_.model));
    const std::string type(csv_.text(at_.gpu_type));
    if (model.empty()) return bad(at_.model, "must not be empty");
    if (type.empty()) return bad(at_.gpu_type, "must not be empty");
    const std::string_view placement = csv_.text(at_.placement);
    const bool spread = placement == "spread";
    if (!spread && !placement.empty() && placement != "node") {
      return bad(at_.placement, "must be node or spread");
    }
    Entry& entry = entry_of(model, type);
    Measured& row = entry.rows[static_cast<std::uint32_t>(gpus)];
    std::optional<double>& cell = spread ? row.spread : row.consolidated;
    if (cell) return bad(at_.rate, "is a second value for this model, type, gang and placement");
    cell = rate / static_cast<double>(gpus);
    entry.source = csv_.text(at_.source);
    if (!csv_.text(at_.estimated).empty()) entry.estimated = csv_.text(at_.estimated);
    return {};
  }

  // REQUIRES: called once, last.
  std::vector<ModelProfile> finish() {
    std::vector<ModelProfile> models;
    for (Entry& entry : entries_) {
      auto model = std::ranges::find(models, entry.model, &ModelProfile::name);
      if (model == models.end()) {
        models.push_back({.name = entry.model, .rates = {}, .costs = {}, .weight = 1});
        model = models.end() - 1;
      }
      TypeRates rates{.gpu_type = entry.type,
                      .rows = {},
                      .estimated = std::move(entry.estimated),
                      .source = std::move(entry.source)};
      for (const auto& [gpus, row] : entry.rows) {
        // If only the gang across nodes was measured, a gang on one node is assumed to be as fast.
        rates.rows.push_back({gpus, row.consolidated.value_or(row.spread.value_or(0)), row.spread});
      }
      model->rates.push_back(std::move(rates));
    }
    return models;
  }

 private:
  struct Entry {
    std::string model;
    std::string type;
    std::map<std::uint32_t, Measured> rows;
    std::string source{};
    std::string estimated{};
  };

  tl::unexpected<Error> bad(CsvReader::Column column, std::string_view what) const {
    return input_error("{}: {} {}: {}", csv_.where(column).text(), csv_.header()[column], what,
                       csv_.text(column));
  }

  Result<std::int64_t> gang() {
    if (csv_.text(at_.gpus).empty()) return 1;
    const std::int64_t gpus = csv_.integer(at_.gpus, 1, kGangMax);
    if (!csv_.bad()) return gpus;
    return input_error("{}: gpus must be a whole number from 1 to {}", csv_.where(at_.gpus).text(),
                       kGangMax);
  }

  Result<double> rate_of_gang() {
    const double rate = csv_.number(at_.rate);
    if (!csv_.bad() && rate >= 0 && rate <= kRateMax) return rate;
    return input_error("{}: samples_per_s must be a number from 0 to 1e12",
                       csv_.where(at_.rate).text());
  }

  Entry& entry_of(const std::string& model, const std::string& type) {
    const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
      return entry.model == model && type_key(entry.type) == type_key(type);
    });
    if (found != entries_.end()) return *found;
    return entries_.emplace_back(Entry{model, type, {}});
  }

  CsvReader& csv_;
  const Columns& at_;
  std::vector<Entry> entries_;
};

}  // namespace

bool is_measured_table(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return std::ranges::all_of(
             std::initializer_list<std::string_view>{"model", "gpu_type", "samples_per_s"},
             [&](std::string_view name) { return line.find(name) != line.npos; }) &&
         line.find(',') != line.npos;
}

Result<SpeedTable> read_measured_table(ByteSource& source) {
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  FL_TRY_ASSIGN(columns, find_columns(csv));
  MeasuredReader reader(csv, columns);
  for (;;) {
    FL_TRY_ASSIGN(more, csv.next());
    if (!more) break;
    if (csv.bad()) {
      return input_error("{}: a row must have as many fields as the header", csv.where().text());
    }
    FL_TRY(reader.read_row());
  }
  SpeedTable table;
  table.models = reader.finish();
  table.source = source.name();
  if (table.models.empty()) return input_error("{}: a table without models", source.name());
  return table;
}

}  // namespace fairlead
