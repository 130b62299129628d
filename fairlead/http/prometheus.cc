#include "fairlead/http/prometheus.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

void PrometheusText::family(std::string_view name, std::string_view kind, std::string_view help) {
  family_ = fmt::format("fairlead_{}", name);
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", family_, help, family_, kind);
}

void PrometheusText::add(std::string_view suffix, Labels labels, double value) {
  std::string list;
  for (const auto& [name, text] : labels) {
    list += fmt::format("{}{}={}", list.empty() ? "" : ",", name, quoted(text));
  }
  if (!list.empty()) list = fmt::format("{{{}}}", list);
  text_ += fmt::format("{}{}{} {}\n", family_, suffix, list, value);
}

PrometheusText::Histogram::Histogram(std::vector<double> bounds_s)
    : bounds_s_(std::move(bounds_s)), counts_(bounds_s_.size() + 1) {}

void PrometheusText::Histogram::add(double seconds) {
  const auto at = std::ranges::lower_bound(bounds_s_, seconds);
  ++counts_[static_cast<std::size_t>(at - bounds_s_.begin())];
  sum_s_ += seconds;
}

void PrometheusText::histogram(std::string_view name, std::string_view help,
                               const Histogram& values) {
  family(name, "histogram", help);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < values.bounds_s_.size(); ++i) {
    count += values.counts_[i];
    add("_bucket", {{"le", fmt::format("{}", values.bounds_s_[i])}}, static_cast<double>(count));
  }
  count += values.counts_.back();
  add("_bucket", {{"le", "+Inf"}}, static_cast<double>(count));
  add("_sum", {}, values.sum_s_);
  add("_count", {}, static_cast<double>(count));
}

}  // namespace fairlead
