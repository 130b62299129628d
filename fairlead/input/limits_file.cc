#include "fairlead/input/limits_file.h"

#include "fairlead/base/split.h"
#include "fairlead/input/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace fairlead {
namespace {

using Per = LimitRule::Per;

constexpr std::int64_t kMost = 1'000'000;
constexpr std::array<std::string_view, 3> kPer = {"", "user", "account"};
constexpr std::array<std::string_view, 7> kColumns = {"name", "qos",  "account", "user",
                                                      "per",  "gpus", "jobs"};

std::vector<std::string> names_in(std::string_view text) {
  if (text.empty()) return {};
  const std::vector<std::string_view> names = split(text, '+');
  return {names.begin(), names.end()};
}

class LimitsReader {
 public:
  explicit LimitsReader(ByteSource& source) : csv_(source) {}

  Result<std::vector<LimitRule>> read() {
    FL_TRY(csv_.read_header());
    FL_TRY(csv_.require({"gpus", "jobs"}));
    for (std::size_t i = 0; i < kColumns.size(); ++i) at_[i] = csv_.find(kColumns[i]);
    FL_TRY(check_header());
    WorkloadBuilder errors("", Reading::kStrict);
    for (;;) {
      FL_TRY_ASSIGN(more, csv_.next());
      if (!more) return std::move(rules_);
      read_row();
      if (csv_.bad()) FL_TRY(csv_.reject(errors));
    }
  }

 private:
  enum Name : std::uint8_t { kName, kQos, kAccount, kUser, kPerColumn, kGpus, kJobs };

  // A column of another name is most likely a mistake.
  Status check_header() const {
    const std::vector<std::string>& names = csv_.header();
    for (CsvReader::Column column = 0; column < names.size(); ++column) {
      if (std::ranges::find(kColumns, names[column]) != kColumns.end()) continue;
      return input_error("{}: no such column (there are: {}): {}", csv_.where(column).text(),
                         fmt::join(kColumns, ", "), names[column]);
    }
    return {};
  }

  std::uint32_t amount(Name name) {
    if (csv_.text(at_[name]).empty()) return 0;
    return static_cast<std::uint32_t>(csv_.integer(at_[name], 1, kMost));
  }

  void read_row() {
    LimitRule rule{.limit = {.name = std::string(csv_.text(at_[kName])),
                             .gpus_max = amount(kGpus),
                             .jobs_max = amount(kJobs)},
                   .qos = names_in(csv_.text(at_[kQos])),
                   .accounts = names_in(csv_.text(at_[kAccount])),
                   .users = names_in(csv_.text(at_[kUser]))};
    const auto* per = std::ranges::find(kPer, csv_.text(at_[kPerColumn]));
    if (per == kPer.end()) return csv_.fault(at_[kPerColumn], "must be user, account or empty");
    rule.per = static_cast<Per>(per - kPer.begin());
    if (csv_.bad()) return;
    if (rule.limit.gpus_max == 0 && rule.limit.jobs_max == 0)
      return csv_.fault(at_[at_[kGpus] == CsvReader::kMissing ? kJobs : kGpus],
                        "must be given, or jobs");
    if (rule.limit.name.empty()) rule.limit.name = fmt::format("row {}", rules_.size() + 1);
    rules_.push_back(std::move(rule));
  }

  CsvReader csv_;
  std::array<CsvReader::Column, kColumns.size()> at_{};
  std::vector<LimitRule> rules_;
};

std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string field(const std::vector<std::string>& names) {
  return field(fmt::format("{}", fmt::join(names, "+")));
}

std::string field(std::uint32_t amount) { return amount == 0 ? "" : fmt::to_string(amount); }

}  // namespace

Result<std::vector<LimitRule>> read_limits(ByteSource& source) {
  return LimitsReader(source).read();
}

Result<std::vector<LimitRule>> load_limits(const std::string& path) {
  FL_TRY_ASSIGN(source, ByteSource::open(path));
  return read_limits(source);
}

std::string limits_csv(std::span<const LimitRule> rules) {
  std::string text = fmt::format("{}\n", fmt::join(kColumns, ","));
  for (const LimitRule& rule : rules) {
    text += fmt::format("{},{},{},{},{},{},{}\n", field(rule.limit.name), field(rule.qos),
                        field(rule.accounts), field(rule.users),
                        kPer[static_cast<std::size_t>(rule.per)], field(rule.limit.gpus_max),
                        field(rule.limit.jobs_max));
  }
  return text;
}

}  // namespace fairlead
