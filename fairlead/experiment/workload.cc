#include "fairlead/experiment/workload.h"

#include "fairlead/base/parse.h"
#include "fairlead/experiment/yaml.h"
#include "fairlead/trace/trace.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

namespace fairlead {
namespace {

constexpr RealBounds kHours = {0, 1e6};
constexpr RealBounds kLoad = {0.001, 1000};
constexpr IntegerBounds kTickets = {1, kTicketsMax};
constexpr IntegerBounds kGpus = {1, kJobGpusMax};
constexpr IntegerBounds kJobs = {1, 1'000'000};
constexpr double kJobsPerHourMin = 0.001;
constexpr IntegerBounds kStreamJobs = {1, 10'000'000};
constexpr IntegerBounds kArtefactSeeds = {0, 1'000'000};
constexpr IntegerBounds kUsers = {1, 1'000'000};

Duration duration_of(double hours) { return {std::llround(hours * 3'600'000)}; }

Status read_jobs(const YamlNode& map, DrawnUser& user) {
  FL_TRY(read(map, "jobs", kJobs, user.jobs));
  FL_TRY(read(map, "gangs", kGpus, user.gangs));
  FL_TRY(read(map, "model", user.model));
  FL_TRY(read(map, "duration_h", {0.001, 1e5}, user.duration_h));
  return read(map, "submit_h", kHours, user.submit_h);
}

Result<DrawnUser> read_user(const YamlNode& map) {
  FL_TRY(map.expect_keys({"name", "tickets", "jobs", "gangs", "model", "duration_h", "submit_h"}));
  DrawnUser user;
  FL_TRY(map.get("name"));
  FL_TRY(read(map, "name", user.name));
  FL_TRY(read(map, "tickets", kTickets, user.tickets));
  FL_TRY(read_jobs(map, user));
  return user;
}

Result<WorkloadSpec> read_users(const YamlNode& list) {
  FL_TRY_ASSIGN(items, list.items());
  std::vector<DrawnUser> users;
  std::set<std::string> names;
  for (const YamlNode& item : items) {
    FL_TRY_ASSIGN(user, read_user(item));
    if (!names.insert(user.name).second) {
      return item.error(fmt::format("two users have the same name: {}", user.name));
    }
    users.push_back(std::move(user));
  }
  return users;
}

Result<std::vector<GangShare>> read_gang_shares(const YamlNode& map) {
  FL_TRY_ASSIGN(pairs, map.pairs());
  std::vector<GangShare> shares;
  for (const YamlNode::Pair& pair : pairs) {
    const auto gpus = parse_integer(pair.key);
    if (!gpus || *gpus < 1 || *gpus > kJobGpusMax) {
      return pair.value.error(
          fmt::format("a gang has from 1 to {} GPUs: {}", kJobGpusMax, pair.key));
    }
    FL_TRY_ASSIGN(weight, pair.value.real({1e-6, 1e6}));
    shares.push_back({*gpus, weight});
  }
  if (shares.empty()) return map.error("expected at least one gang size and its weight");
  return shares;
}

// [min, max].
template <class Bounds, class T>
Status read_range(const YamlNode& map, std::string_view key, Bounds bounds, T& min, T& max) {
  const auto node = map.find(key);
  if (!node) return {};
  std::vector<T> range;
  FL_TRY(read(map, key, bounds, range));
  if (range.size() != 2 || range[0] > range[1]) return node->bad_value("expected [least, most]");
  min = range[0];
  max = range[1];
  return {};
}

// Reads the sizes of gangs by weight, and models, which are equally frequent.
Status read_mix(const YamlNode& map, std::vector<GangShare>& gangs,
                std::vector<ModelShare>& models) {
  if (const auto node = map.find("gangs")) {
    FL_TRY_ASSIGN(shares, read_gang_shares(*node));
    gangs = std::move(shares);
  }
  std::vector<std::string> names;
  FL_TRY(read(map, "models", names));
  if (!names.empty()) models.clear();
  for (const std::string& name : names) models.push_back({name});
  return {};
}

Status read_session_jobs(const YamlNode& map, SessionOptions& options) {
  FL_TRY(read_range(map, "jobs", kJobs, options.jobs_min, options.jobs_max));
  double burst_s = to_seconds(options.burst);
  FL_TRY(read(map, "burst_s", RealBounds{0, 1e6}, burst_s));
  options.burst = duration_of(burst_s / 3600);
  double shortest_h = to_seconds(options.duration_min) / 3600;
  double longest_h = to_seconds(options.duration_max) / 3600;
  FL_TRY(read_range(map, "duration_h", RealBounds{0.001, 1e5}, shortest_h, longest_h));
  options.duration_min = duration_of(shortest_h);
  options.duration_max = duration_of(longest_h);
  return read_mix(map, options.gangs, options.models);
}

Result<DrawnSpec> read_sessions(const YamlNode& map) {
  FL_TRY(map.expect_keys(
      {"hours", "load", "users", "tickets", "jobs", "burst_s", "duration_h", "gangs", "models"}));
  SessionOptions options;
  FL_TRY(read(map, "hours", {0.001, 1e5}, options.span_h));
  FL_TRY(read(map, "load", kLoad, options.load));
  FL_TRY(read(map, "users", kUsers, options.users));
  FL_TRY(read(map, "tickets", kTickets, options.tickets));
  FL_TRY(read_session_jobs(map, options));
  return DrawnSpec{options, {}};
}

Result<DrawnSpec> read_generate(const YamlNode& map) {
  FL_TRY(map.expect_keys(
      {"jobs", "load", "users", "tickets", "daily_swing", "duration_scale", "gangs", "models"}));
  GenerateOptions options;
  FL_TRY(read(map, "jobs", kStreamJobs, options.jobs));
  FL_TRY(read(map, "load", kLoad, options.load));
  FL_TRY(read(map, "daily_swing", {0, 1}, options.daily_swing));
  FL_TRY(read(map, "duration_scale", {1e-6, 600}, options.duration_scale));
  std::int64_t users = 10;
  std::vector<std::int64_t> tickets = {1};
  FL_TRY(read(map, "users", kUsers, users));
  FL_TRY(read(map, "tickets", kTickets, tickets));
  FL_TRY(read_mix(map, options.gangs, options.models));
  options.users = unequal_users(users, tickets);
  return DrawnSpec{options, {}};
}

Status read_stream(const YamlNode& map, JobStream& stream) {
  FL_TRY(read(map, "jobs", kStreamJobs, stream.jobs));
  FL_TRY(read(map, "jobs_per_hour", RealBounds{0, 1e6}, stream.jobs_per_hour));
  if (stream.jobs_per_hour > 0 && stream.jobs_per_hour < kJobsPerHourMin) {
    return map.find("jobs_per_hour")
        ->bad_value(fmt::format("expected 0 (all at once), or at least {}", kJobsPerHourMin));
  }
  const auto gangs = map.find("gangs");
  if (!gangs) return {};
  FL_TRY_ASSIGN(shares, read_gang_shares(*gangs));
  stream.gangs = std::move(shares);
  return {};
}

Result<DrawnSpec> read_gavel_stream(const YamlNode& map) {
  FL_TRY(map.expect_keys({"jobs", "jobs_per_hour", "gangs", "artefact_seed", "priorities"}));
  JobStream stream;
  FL_TRY(read_stream(map, stream));
  const auto priorities = map.find("priorities");
  if (!map.find("artefact_seed")) {
    if (priorities) return priorities->error("priorities go with artefact_seed");
    return DrawnSpec{std::move(stream), {}};
  }
  std::int64_t seed = 0;
  FL_TRY(read(map, "artefact_seed", kArtefactSeeds, seed));
  stream.seed = static_cast<std::uint64_t>(seed);
  PublishedGavel published{.stream = std::move(stream)};
  FL_TRY(read(map, "priorities", published.priorities));
  return DrawnSpec{std::move(published), {}};
}

Result<SizeClass> read_class(const YamlNode& map) {
  FL_TRY(map.expect_keys({"name", "weight", "gpu_hours", "models"}));
  SizeClass one;
  for (const char* key : {"name", "gpu_hours"}) FL_TRY(map.get(key));
  FL_TRY(read(map, "name", one.name));
  FL_TRY(read(map, "weight", RealBounds{1e-6, 1e6}, one.weight));
  FL_TRY(
      read_range(map, "gpu_hours", RealBounds{0.001, 1e5}, one.gpu_hours_min, one.gpu_hours_max));
  FL_TRY(read(map, "models", one.models));
  return one;
}

Result<DrawnSpec> read_classes(const YamlNode& map) {
  FL_TRY(map.expect_keys({"jobs", "jobs_per_hour", "gangs", "users", "classes"}));
  ClassOptions options;
  FL_TRY(read_stream(map, options.stream));
  FL_TRY(read(map, "users", kUsers, options.users));
  FL_TRY_ASSIGN(list, map.get("classes"));
  FL_TRY_ASSIGN(items, list.items());
  for (const YamlNode& item : items) {
    FL_TRY_ASSIGN(one, read_class(item));
    options.classes.push_back(std::move(one));
  }
  return DrawnSpec{std::move(options), {}};
}

Result<DrawnSpec> read_drawn(std::string_view kind, const YamlNode& map) {
  if (kind == "sessions") return read_sessions(map);
  if (kind == "generate") return read_generate(map);
  return kind == "gavel" ? read_gavel_stream(map) : read_classes(map);
}

Status read_elastic(const YamlNode& map, Elastic& elastic) {
  FL_TRY(map.expect_keys({"min", "factor"}));
  FL_TRY(read(map, "min", kGpus, elastic.gpus_min));
  return read(map, "factor", {1, 1000}, elastic.factor);
}

Result<TraceSpec> read_trace_spec(std::string_view kind, const YamlNode& value,
                                  const std::filesystem::path& folder) {
  FL_TRY_ASSIGN(path, value.text());
  if (kind == "shared") return TraceSpec{.path = shared_folder() / path, .shared_name = path};
  std::error_code ignored;
  if (std::filesystem::exists(folder / path, ignored)) return TraceSpec{.path = folder / path};
  return value.error(fmt::format("no such file: {}", (folder / path).string()));
}

Status read_part(const YamlNode& map, TraceSpec& trace) {
  FL_TRY(read(map, "of_users", trace.users));
  FL_TRY(read_range(map, "submit_h", RealBounds{0, TraceSpec::kEndH}, trace.submit_from_h,
                    trace.submit_to_h));
  FL_TRY(read_range(map, "jobs", IntegerBounds{1, TraceSpec::kAllJobs}, trace.first_job,
                    trace.last_job));
  return read(map, "at_once", trace.at_once);
}

JobRow row_of(const Workload& from, JobId job, bool at_once) {
  const ModelId model = from.jobs.model[job];
  const auto types = from.runs_on.find(job);
  const auto levels = from.levels.find(job);
  const bool any_level = levels != from.levels.end();
  const UserId user = from.jobs.user[job];
  const GroupId group = from.users.group_of(user);
  const Groups& groups = from.users.groups;
  return {
      .id = from.names[job],
      .user = from.users.names[user],
      .model = model.is_none() ? std::string_view() : from.models[model],
      .gpus = from.jobs.gpus[job],
      .gpus_min = from.jobs.gpus_min[job],
      .gpus_max = from.jobs.gpus_max[job],
      .task_gpus = from.jobs.task_gpus[job],
      .asks = from.asks_of(job),
      .submit = at_once ? Time{} : from.jobs.arrival[job],
      .duration = from.durations[job],
      .gpu_type = from.reference_types[job],
      .runs_on = types == from.runs_on.end() ? std::string_view() : types->second,
      .require_level = any_level ? std::string_view(levels->second.required) : std::string_view(),
      .prefer_level = any_level ? std::string_view(levels->second.preferred) : std::string_view(),
      .tickets = from.users.tickets[user],
      .group = group.is_none() ? std::string_view() : groups.names[group],
      .group_tickets = group.is_none() ? 0 : groups.tickets[group],
      .group_quota = group.is_none() ? 0 : groups.quota[group]};
}

bool is_in(const TraceSpec& spec, const Workload& whole, JobId job) {
  const Time submit = whole.jobs.arrival[job];
  if (submit < Time{} + duration_of(spec.submit_from_h)) return false;
  if (submit >= Time{} + duration_of(spec.submit_to_h)) return false;
  if (spec.users.empty()) return true;
  const std::string& user = whole.users.names[whole.jobs.user[job]];
  return std::ranges::find(spec.users, user) != spec.users.end();
}

Result<Workload> part_of(const TraceSpec& spec) {
  FL_TRY_ASSIGN(whole, read_trace(spec.path.string(), {}));
  std::vector<JobId> order;
  for (const JobId job : ids<JobId>(whole.jobs.size())) {
    if (is_in(spec, whole, job)) order.push_back(job);
  }
  std::ranges::stable_sort(order, {}, [&](JobId job) { return whole.jobs.arrival[job]; });
  const auto first = static_cast<std::size_t>(spec.first_job - 1);
  const std::size_t end = std::min(order.size(), static_cast<std::size_t>(spec.last_job));
  if (first >= end) {
    return run_error("{}: it has {} such jobs; none from {} on", spec.path.string(), order.size(),
                     spec.first_job);
  }
  WorkloadBuilder builder(whole.name, Reading::kStrict);
  for (std::size_t i = first; i < end; ++i) {
    FL_TRY(builder.add(row_of(whole, order[i], spec.at_once), Where(whole.name)));
  }
  builder.start_at_zero();
  return builder.finish();
}

std::string job_name(const DrawnUser& user, std::int64_t number) {
  return user.jobs == 1 ? user.name : fmt::format("{}-{}", user.name, number);
}

Result<Workload> make_users(const std::vector<DrawnUser>& users) {
  WorkloadBuilder builder("users", Reading::kStrict);
  std::int64_t row = 0;
  for (const DrawnUser& user : users) {
    for (std::int64_t i = 0; i < user.jobs; ++i) {
      const std::string id = job_name(user, i + 1);
      FL_TRY(builder.add({.id = id,
                          .user = user.name,
                          .model = user.model,
                          .gpus = user.gangs[static_cast<std::size_t>(i) % user.gangs.size()],
                          .submit = Time{} + duration_of(user.submit_h),
                          .duration = duration_of(user.duration_h),
                          .tickets = user.tickets},
                         Where("users", ++row)));
    }
  }
  return builder.finish();
}

void stretch(const Elastic& elastic, Jobs& jobs) {
  for (const JobId job : ids<JobId>(jobs.size())) {
    const std::int64_t asked = jobs.gpus[job];
    const std::int64_t task = jobs.task_gpus[job];
    const std::int64_t least = std::min(elastic.gpus_min, asked);
    const std::int64_t most = std::min(elastic.factor * asked, kJobGpusMax);
    jobs.gpus_min[job] = static_cast<std::uint32_t>((least + task - 1) / task * task);
    jobs.gpus_max[job] = static_cast<std::uint32_t>(most / task * task);
  }
}

Result<Workload> draw(const DrawnSpec& spec, const Cluster& cluster, std::uint64_t seed) {
  if (auto* sessions = std::get_if<SessionOptions>(&spec.options)) {
    SessionOptions options = *sessions;
    options.capacity_gpus = cluster.gpus;
    options.seed = seed;
    return generate_sessions(options);
  }
  if (auto* generated = std::get_if<GenerateOptions>(&spec.options)) {
    GenerateOptions options = *generated;
    options.capacity_gpus = cluster.gpus;
    options.seed = seed;
    return generate(options);
  }
  if (auto* classes = std::get_if<ClassOptions>(&spec.options)) {
    ClassOptions options = *classes;
    options.stream.seed = seed;
    return generate_classes(options);
  }
  if (auto* published = std::get_if<PublishedGavel>(&spec.options)) {
    return generate_published_gavel(*published);
  }
  JobStream stream = std::get<JobStream>(spec.options);
  stream.seed = seed;
  return generate_gavel(stream);
}

// Returns the one key that names the kind of workload.
Result<std::string> kind_of(const YamlNode& map) {
  std::string kind;
  for (const char* key : {"trace", "shared", "generate", "sessions", "gavel", "classes", "users"}) {
    if (!map.find(key)) continue;
    if (kind.empty()) {
      kind = key;
    } else {
      kind.clear();
      break;
    }
  }
  if (!kind.empty()) return kind;
  return map.error(
      "a workload is one of trace, shared, generate, sessions, gavel, classes and users");
}

bool is_trace(std::string_view kind) { return kind == "trace" || kind == "shared"; }

Status check_additions(const YamlNode& map, std::string_view kind) {
  for (const char* key : {"of_users", "submit_h", "jobs", "at_once"}) {
    const auto part = map.find(key);
    if (part && !is_trace(kind)) return part->error(fmt::format("{} belongs to a trace", key));
  }
  const auto elastic = map.find("elastic");
  if (elastic && (is_trace(kind) || kind == "users")) {
    return elastic->error("elastic belongs to a workload that is drawn");
  }
  return {};
}

}  // namespace

std::filesystem::path shared_folder() {
  const char* folder = std::getenv("FAIRLEAD_SHARED");
  return folder == nullptr ? "../shared" : folder;
}

Result<WorkloadSpec> read_workload(const YamlNode& map, const std::filesystem::path& folder) {
  FL_TRY(map.expect_keys({"trace", "shared", "generate", "sessions", "gavel", "classes", "users",
                          "elastic", "of_users", "submit_h", "jobs", "at_once"}));
  FL_TRY_ASSIGN(kind, kind_of(map));
  FL_TRY(check_additions(map, kind));
  const YamlNode value = *map.find(kind);
  if (kind == "users") return read_users(value);
  if (is_trace(kind)) {
    FL_TRY_ASSIGN(trace, read_trace_spec(kind, value, folder));
    FL_TRY(read_part(map, trace));
    return trace;
  }
  FL_TRY_ASSIGN(drawn, read_drawn(kind, value));
  if (const auto elastic = map.find("elastic")) FL_TRY(read_elastic(*elastic, drawn.elastic));
  return drawn;
}

Result<Workload> make_workload(const WorkloadSpec& spec, const Cluster& cluster,
                               std::uint64_t seed) {
  if (const auto* users = std::get_if<std::vector<DrawnUser>>(&spec)) return make_users(*users);
  if (const auto* trace = std::get_if<TraceSpec>(&spec)) return part_of(*trace);
  const auto& drawn = std::get<DrawnSpec>(spec);
  FL_TRY_ASSIGN(workload, draw(drawn, cluster, seed));
  stretch(drawn.elastic, workload.jobs);
  return workload;
}

}  // namespace fairlead
