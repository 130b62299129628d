#include "gavel_files.h"

#include "fairlead/base/check.h"
#include "fairlead/base/file.h"
#include "fairlead/base/parse.h"

#include "gold_csv.h"
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace fairlead {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// The lines of a file, compressed or not.
std::vector<std::string> lines_of(const fs::path& path) {
  auto source = ByteSource::open(path.string());
  FL_CHECK(source.has_value(), "{}", source.error().message);
  LineReader reader(*source);
  std::vector<std::string> lines;
  for (;;) {
    const auto more = reader.next();
    FL_CHECK(more.has_value(), "{}", more.error().message);
    if (!*more) return lines;
    lines.emplace_back(reader.line());
  }
}

Json json_of(const fs::path& path) {
  std::string text;
  for (const std::string& line : lines_of(path)) text += line + "\n";
  return Json::parse(text);
}

std::vector<std::string> split(std::string_view line, char separator) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == separator) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

double number(const std::string& text) {
  const auto parsed = parse_number(text);
  FL_CHECK(parsed.has_value(), "{} {}", parsed.error(), text);
  return *parsed;
}

std::uint32_t whole(const std::string& text) {
  const auto parsed = parse_integer(text);
  FL_CHECK(parsed.has_value(), "{} {}", parsed.error(), text);
  return static_cast<std::uint32_t>(*parsed);
}

// The simulator spells a key "('LM (batch size 5)', 1)".
std::pair<std::string, std::uint32_t> model_and_gang(const std::string& key) {
  const std::size_t comma = key.rfind("', ");
  FL_CHECK(key.starts_with("('") && comma != std::string::npos && key.ends_with(')'), "{}", key);
  return {key.substr(2, comma - 2), whole(key.substr(comma + 3, key.size() - comma - 4))};
}

// Gavel's traces have 10 columns, Shockwave's two more: the mode, and a duration before the last.
GavelJob job_of(const std::string& line) {
  const std::vector<std::string> fields = split(line, '\t');
  FL_CHECK(fields.size() == 10 || fields.size() == 12, "{}", line);
  return {.model = fields[0],
          .gang = whole(fields[6]),
          .steps = whole(fields[5]),
          .weight = number(fields[fields.size() == 10 ? 7 : 8]),
          .arrival_s = number(fields.back())};
}

std::optional<double> number_or_none(const std::string& text) {
  if (text == "None") return std::nullopt;
  return number(text);
}

}  // namespace

GavelThroughputs read_gavel_throughputs(const fs::path& path) {
  GavelThroughputs throughputs;
  const Json json = json_of(path);
  for (const auto& [type, jobs] : json.items()) {
    for (const auto& [job, partners] : jobs.items()) {
      throughputs[type][model_and_gang(job)] = partners.at("null");
    }
  }
  return throughputs;
}

GavelThroughputs read_shockwave_throughputs() {
  GavelThroughputs throughputs;
  for (const std::string& line : lines_of("tests/gold/gavel_shockwave_v100.csv")) {
    if (line.starts_with('#') || line == "model,gang,steps_per_s") continue;
    const std::vector<std::string> fields = split(line, ',');
    throughputs["v100"][{fields.at(0), whole(fields.at(1))}] = number(fields.at(2));
  }
  return throughputs;
}

GavelSummary read_gavel_summary(const fs::path& path) {
  const Json json = json_of(path);
  GavelSummary summary{.policy_name = json.at("policy_name"),
                       .seed = json.at("seed"),
                       .interval_s = json.at("interval")};
  constexpr std::array<const char*, 3> kTypes = {"v100", "p100", "k80"};
  const std::vector<std::string> gpus = split(json.at("cluster").get<std::string>(), ':');
  FL_CHECK(gpus.size() == kTypes.size());
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (whole(gpus[i]) > 0) summary.gpus[kTypes[i]] = whole(gpus[i]);
  }
  return summary;
}

GavelWorld read_gavel_world(const fs::path& trace, const std::map<std::string, std::uint32_t>& gpus,
                            const GavelThroughputs& throughputs) {
  GavelWorld world;
  for (const auto& [type, count] : gpus) {
    world.types.push_back(type);
    world.gpus.push_back(count);
  }
  for (const std::string& line : lines_of(trace)) {
    GavelJob& job = world.jobs.emplace_back(job_of(line));
    for (const std::string& type : world.types) {
      const auto& on_type = throughputs.at(type);
      const auto at = on_type.find({job.model, job.gang});
      job.throughputs.push_back(at == on_type.end() ? 0 : at->second);
    }
  }
  return world;
}

std::vector<GavelAllocation> read_gavel_allocations(const fs::path& path) {
  std::vector<GavelAllocation> allocations;
  for (const std::string& line : lines_of(path)) {
    const Json json = Json::parse(line);
    GavelAllocation& allocation = allocations.emplace_back();
    allocation.at_s = json.at(0);
    for (const auto& [job, shares] : json.at(1).items()) {
      // A pair that shares GPUs, "(3, 7)", does not count as a job here.
      if (job.front() == '(') {
        allocation.has_pairs = true;
        continue;
      }
      for (const auto& [type, share] : shares.items()) allocation.shares[whole(job)][type] = share;
    }
  }
  return allocations;
}

GavelAllocate recorded(const GavelWorld& world, std::vector<GavelAllocation> allocations) {
  FL_CHECK(!allocations.empty());
  return [&world, allocations = std::move(allocations)](const GavelReset& reset) {
    const GavelAllocation& allocation = allocations[std::min(reset.index, allocations.size() - 1)];
    std::vector<double> shares;
    for (const GavelReset::Active& active : reset.active) {
      const auto at = allocation.shares.find(active.job);
      for (const std::string& type : world.types) {
        shares.push_back(at == allocation.shares.end() ? 0 : at->second.at(type));
      }
    }
    return shares;
  };
}

std::vector<GavelRound> read_gavel_rounds(const fs::path& path, const GavelWorld& world) {
  std::vector<GavelRound> rounds;
  for (const std::string& line : lines_of(path)) {
    const Json json = Json::parse(line);
    if (json.at(1).empty()) continue;
    GavelRound& round = rounds.emplace_back(GavelRound{.start_s = json.at(0)});
    for (const Json& run : json.at(1)) {
      const auto type = std::ranges::find(world.types, run.at(1).get<std::string>());
      round.runs.push_back({.job = whole(run.at(0)),
                            .type = static_cast<std::uint32_t>(type - world.types.begin()),
                            .workers = run.at(2)});
    }
    std::ranges::sort(round.runs, {}, &GavelRun::job);
  }
  return rounds;
}

std::vector<GavelRound> read_shockwave_rounds(const fs::path& path) {
  std::vector<GavelRound> rounds;
  for (const std::string& line : lines_of(path)) {
    const Json json = Json::parse(line);
    if (json.empty()) continue;
    GavelRound& round = rounds.emplace_back();
    for (const Json& run : json) round.runs.push_back({.job = run.at(0), .workers = run.at(1)});
    std::ranges::sort(round.runs, {}, &GavelRun::job);
  }
  return rounds;
}

std::vector<GavelFinish> read_gavel_jobs(const fs::path& path) {
  std::vector<GavelFinish> jobs;
  for (auto& row : read_csv(path)) {
    const std::string& id = row.contains("job_id") ? row.at("job_id") : row.at("job_index");
    FL_CHECK(whole(id) == jobs.size(), "{}: {}", path.string(), id);
    GavelFinish& job = jobs.emplace_back(GavelFinish{.jct_s = number_or_none(row.at("jct_s"))});
    if (row.contains("finish_s")) job.finish_s = number_or_none(row.at("finish_s"));
  }
  return jobs;
}

}  // namespace fairlead
