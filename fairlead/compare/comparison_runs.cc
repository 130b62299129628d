// runs.csv and runs.jsonl of a comparison.

#include "fairlead/compare/comparison.h"
#include "fairlead/report/csv_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fairlead {
namespace {

using nlohmann::json;
using Row = nlohmann::ordered_json;  // a run's cells by column

// Parts of a summary without a column: counts by reason, because the reasons differ between runs, and sentences.
constexpr std::string_view kNoColumns[] = {"rows_rejected", "rows_repaired", "jobs_rejected",
                                           "assumed"};

// {"fairness": {"jain": 1}} as {"fairness_jain": 1}; lists are left out.
void flatten(const json& object, const std::string& prefix, Row& row) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(kNoColumns, key) != std::end(kNoColumns)) continue;
    if (value.is_object()) {
      flatten(value, prefix + key + "_", row);
    } else if (!value.is_array() && !row.contains(prefix + key)) {
      row[prefix + key] = value;
    }
  }
}

Row row_of(const ComparedPoint& point, const ComparedPolicy& policy, const json& summary,
           std::uint64_t seeds) {
  const auto seed = summary.value("seed", std::uint64_t{0});
  Row row = Row::object();
  for (const auto& [key, value] : point.values) row[key] = number_or_text(value);
  row["policy"] = policy.policy;  // as written by the user, unlike the name in summary.json
  row["seed"] = seed;
  row["folder"] = run_folder(point, policy, seed, seeds).string();
  flatten(summary, "", row);
  return row;
}

std::vector<Row> rows_of(const Comparison& comparison) {
  std::vector<Row> rows;
  for (const ComparedPoint& point : comparison.points) {
    for (const ComparedPolicy& policy : point.policies) {
      for (const json& summary : policy.summaries) {
        rows.push_back(row_of(point, policy, summary, comparison.seeds));
      }
    }
  }
  return rows;
}

// Returns the columns of all rows, in the order in which they first occur.
std::vector<std::string> columns_of(const std::vector<Row>& rows) {
  std::vector<std::string> columns;
  std::set<std::string> seen;
  for (const Row& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (seen.insert(key).second) columns.push_back(key);
    }
  }
  return columns;
}

void write_cell(CsvWriter& csv, const Row& value) {
  constexpr int kDecimals = 9;  // as many as summary.json has
  if (value.is_null()) {
    csv.empty();
  } else if (value.is_string()) {
    csv.text(value.get_ref<const std::string&>());
  } else if (value.is_number_unsigned()) {
    csv.text(fmt::format("{}", value.get<std::uint64_t>()));  // a seed may take all 64 bits
  } else if (value.is_number_integer()) {
    csv.integer(value.get<std::int64_t>());
  } else {
    csv.number(value.get<double>(), kDecimals);
  }
}

}  // namespace

Status write_runs(const Comparison& comparison, ResultFolder& folder) {
  const std::vector<Row> rows = rows_of(comparison);
  const std::vector<std::string> columns = columns_of(rows);
  FL_TRY_ASSIGN(table, OutputFile::create(folder.file("runs.csv")));
  FL_TRY_ASSIGN(lines, OutputFile::create(folder.file("runs.jsonl")));
  std::string header;
  for (const std::string& column : columns) header += (header.empty() ? "" : ",") + column;
  CsvWriter csv(table, header);
  for (const Row& row : rows) {
    Row line = Row::object();
    for (const std::string& column : columns) {
      line[column] = row.value(column, Row());
      write_cell(csv, line[column]);
    }
    csv.end_row();
    lines.write(line.dump(-1, ' ', false, Row::error_handler_t::replace) + "\n");
  }
  FL_TRY(folder.add(std::move(table), "runs.csv"));
  return folder.add(std::move(lines), "runs.jsonl");
}

}  // namespace fairlead
