#include "fairlead/slurm/nodes.h"

#include "fairlead/base/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace fairlead {
namespace {

constexpr std::string_view kCommand = "scontrol show node";

// The fields of one node, each with its line.
struct Record {
  std::string name;
  std::string gres, trackable, state, partitions, features;
  std::int64_t line = 0;       // line of its name
  std::int64_t gres_line = 0;  // line of Gres or CfgTRES
  CpuMemory has{};
};

using Gpus = std::map<std::string, std::uint32_t>;  // by type

std::optional<std::uint32_t> count_of(std::string_view text) {
  const Parsed<std::int64_t> count = parse_integer(text);
  if (!count || *count < 0 || *count > kNodeGpusMax) return std::nullopt;
  return static_cast<std::uint32_t>(*count);
}

std::string type_of(std::string_view type) { return type.empty() ? "GPU" : std::string(type); }

// The parts of a list, at commas outside brackets: "gpu:a100:4(S:0,1),nic:2".
std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c != ',' || (depth > 0 && i < list.size())) continue;
    if (i > begin) parts.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

// "gpu:8", "gpu:a100:8", "gpu:a100:8(S:0-1)". False: GPUs that it does not count.
bool add_gres(std::string_view one, Gpus& gpus) {
  one = one.substr(0, one.find('('));
  if (one != "gpu" && !one.starts_with("gpu:")) return true;
  const std::size_t first = one.find(':');
  const std::size_t last = one.rfind(':');
  const auto count = last == one.npos ? std::optional(1U) : count_of(one.substr(last + 1));
  if (!count) return false;
  const bool has_type = first != last;
  gpus[type_of(has_type ? one.substr(first + 1, last - first - 1) : "")] += *count;
  return true;
}

// Reads "cpu=8,gres/gpu=8,gres/gpu:a100=8": adds the typed GPUs, or all GPUs if no type is named.
bool add_trackable(std::string_view list, Gpus& gpus) {
  constexpr std::string_view kGpu = "gres/gpu";
  std::uint32_t all = 0;
  for (std::string_view one : parts_of(list)) {
    const std::size_t equals = std::min(one.find('='), one.size());
    std::string_view name = one.substr(0, equals);
    if (!name.starts_with(kGpu)) continue;
    name.remove_prefix(kGpu.size());
    if (!name.empty() && name.front() != ':') continue;  // such as gpumem
    const auto count = count_of(one.substr(std::min(equals + 1, one.size())));
    if (!count) return false;
    if (name.empty()) {
      all = *count;
    } else {
      gpus[type_of(name.substr(1))] += *count;
    }
  }
  if (gpus.empty() && all > 0) gpus[type_of("")] = all;
  return true;
}

// The first state that keeps jobs away, in lower case; empty: none does. "MIXED+DRAIN", "DOWN*".
std::string away_state(std::string_view state) {
  constexpr std::string_view kAway[] = {"DOWN",           "DRAIN",   "DRAINED", "DRAINING", "FAIL",
                                        "ERROR",          "FAILING", "FUTURE",  "INVAL",    "MAINT",
                                        "NOT_RESPONDING", "UNKNOWN", "BLOCKED"};
  while (!state.empty()) {
    std::string_view word = state.substr(0, state.find('+'));
    state.remove_prefix(std::min(word.size() + 1, state.size()));
    const bool is_silent = word.ends_with('*');
    word = word.substr(0, word.find_first_of("*~#!%$@^-"));
    const bool is_away = std::ranges::find(kAway, word) != std::end(kAway);
    if (!is_away && !is_silent) continue;
    std::string lower(is_away ? word : "NOT_RESPONDING");
    std::ranges::transform(lower, lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c == '_' ? ' ' : c;
    });
    return lower;
  }
  return {};
}

std::vector<std::string> names_of(std::string_view list) {
  const std::vector<std::string_view> parts = parts_of(list);
  return {parts.begin(), parts.end()};
}

Status add_node(const Record& record, const std::string& file, SlurmNodes& found) {
  Gpus gpus;
  bool is_counted = true;
  for (std::string_view one : parts_of(record.gres)) is_counted = add_gres(one, gpus) && is_counted;
  if (gpus.empty() && is_counted) is_counted = add_trackable(record.trackable, gpus);
  std::erase_if(gpus, [](const auto& of_type) { return of_type.second == 0; });
  if (!is_counted) {
    return input_error("{}:{}: node {} must have a number of GPUs from 0 to {}: {}", file,
                       record.gres_line, record.name, kNodeGpusMax,
                       record.gres.empty() ? record.trackable : record.gres);
  }
  if (gpus.empty()) {
    ++found.without_gpus;
    return {};
  }
  if (const std::string away = away_state(record.state); !away.empty()) {
    ++found.left_out[away];
    return {};
  }
  std::int64_t all = 0;
  for (const auto& [type, count] : gpus) all += count;
  for (const auto& [type, count] : gpus) {
    const std::string name = gpus.size() == 1 ? record.name : record.name + "/" + type;
    found.nodes.push_back({.spec = {.name = name,
                                    .gpu_type = type,
                                    .gpus = count,
                                    .host = record.name,
                                    .rack = "cluster",
                                    .has = record.has.part(count, all)},
                           .partitions = names_of(record.partitions),
                           .features = names_of(record.features)});
  }
  return {};
}

// Reads the "Key=Value" words of a line. Values may have blanks; of the keys used here, only Gres=(null) has one.
void take_words(std::string_view line, std::int64_t number, Record& record) {
  while (!line.empty()) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    line.remove_prefix(word.size());
    const std::size_t equals = word.find('=');
    if (equals == word.npos) continue;
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (key == "Gres" && value != "(null)") record.gres = value;
    if (key == "CfgTRES") record.trackable = value;
    if (key == "Gres" || (key == "CfgTRES" && record.gres.empty())) record.gres_line = number;
    if (key == "CPUTot") record.has.cpus = thousandths_of_whole(parse_integer(value).value_or(0));
    if (key == "RealMemory") record.has.memory_gb = gb_of_mb(parse_integer(value).value_or(0));
    if (key == "State") record.state = value;
    if (key == "Partitions") record.partitions = value;
    if (key == "ActiveFeatures" && value != "(null)") record.features = value;
  }
}

}  // namespace

Result<SlurmNodes> read_slurm_nodes(ByteSource& source) {
  constexpr std::string_view kNode = "NodeName=";
  SlurmNodes found;
  Record record;
  LineReader lines(source);
  for (;;) {
    FL_TRY_ASSIGN(more, lines.next());
    if (!more) break;
    const std::string_view line = trimmed(lines.line());
    if (line.starts_with(kNode)) {
      if (!record.name.empty()) FL_TRY(add_node(record, lines.name(), found));
      const std::string_view name = line.substr(kNode.size());
      record = {.name = std::string(name.substr(0, name.find_first_of(" \t")))};
    } else if (record.name.empty() && !line.empty()) {
      return input_error("{}:{}: a line before the first NodeName=; give the output of `{}`: {}",
                         lines.name(), lines.number(), kCommand, line);
    }
    take_words(line, lines.number(), record);
  }
  if (record.name.empty())
    return input_error("{}: no node in it; give the output of `{}`", source.name(), kCommand);
  FL_TRY(add_node(record, source.name(), found));
  return found;
}

}  // namespace fairlead
