#include "fairlead/trace/readers/sacct_json.h"
// Slurm's sacct --json: an object whose "jobs" are objects with job_id, state, tres and times in Unix time. Numbers may
// stand alone or, since Slurm 23.02, as {"set": true, "number": 8}. Each job is dropped once it is read, so that memory
// does not grow with the log. The same jobs and times count as in tables (sacct.cc).

#include "fairlead/trace/json_source.h"
#include "fairlead/trace/readers/sacct_runs.h"
#include "fairlead/trace/states.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <istream>
#include <optional>
#include <string>

namespace fairlead {
namespace {

using nlohmann::json;

// The member, or null.
const json& member(const json& object, const char* key) {
  static const json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::optional<std::int64_t> number(const json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  const json& inside = member(value, "number");
  if (!inside.is_number_integer() || member(value, "set") == false) return std::nullopt;
  return inside.get<std::int64_t>();
}

std::string text(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

// Returns a word, or the first word of a list, which is the state.
std::string state(const json& value) {
  const json& current = member(value, "current");
  if (current.is_array() && !current.empty()) return text(current.front());
  return text(current);
}

// The list that names GPUs is `job`'s, and outlives the result.
SlurmGpus gpus_of(const json& list) {
  SlurmGpus gpus;
  if (!list.is_array()) return gpus;
  for (const json& one : list) {
    const json& name = member(one, "name");
    if (text(member(one, "type")) == "node") gpus.nodes = number(member(one, "count")).value_or(0);
    const std::int64_t count = number(member(one, "count")).value_or(0);
    if (text(member(one, "type")) == "cpu") gpus.other.cpus = thousandths_of_whole(count);
    if (text(member(one, "type")) == "mem") gpus.other.memory_gb = gb_of_mb(count);
    if (text(member(one, "type")) != "gres" || !name.is_string()) continue;
    gpus.add(name.get_ref<const std::string&>(), number(member(one, "count")).value_or(-1));
  }
  return gpus;
}

class SlurmJobs {
 public:
  SlurmJobs(const ReadOptions& options, WorkloadBuilder& builder)
      : options_(options), builder_(builder) {}

  const Status& status() const { return status_; }

  // Adds the job that ends at `where`.
  void take(const json& job, Where where) {
    if (!status_) return;
    const std::optional<std::int64_t> id = number(member(job, "job_id"));
    const std::string name = id ? fmt::to_string(*id) : text(member(job, "job_id"));
    const std::string ended = state(member(job, "state"));
    const json& tres = member(job, "tres");
    const json& allocated = member(tres, "allocated");
    const json& requested = member(tres, "requested");
    const SlurmJobGpus gpus{.requested = gpus_of(requested),
                            .allocated = gpus_of(allocated),
                            .has_requested = requested.is_array() && !requested.empty(),
                            .has_allocated = allocated.is_array() && !allocated.empty()};
    const SlurmGpus& of_job = gpus.either();
    if (of_job.bad) return reject("tres must name whole GPUs", where, name);
    const json& time = member(job, "time");
    const std::optional<std::int64_t> submitted = number(member(time, "submission"));
    const std::optional<std::int64_t> elapsed = number(member(time, "elapsed"));
    const bool is_timed = in_range(submitted) && in_range(elapsed);
    if (const std::string_view reason =
            slurm_no_job(ended, gpus, is_timed ? seconds(*elapsed) : seconds(1));
        !reason.empty())
      return builder_.skip(reason);
    if (!is_timed) return reject("time must have submission and elapsed in seconds", where, name);
    const std::string user = user_of(job);
    const std::string partition = text(member(job, "partition"));
    const std::string qos = text(member(job, "qos"));
    const std::string account = text(member(job, "account"));
    const std::string runs_on =
        slurm_runs_on(options_, gpus, partition, text(member(job, "constraints")));
    const std::int64_t limit = number(member(time, "limit")).value_or(0);  // minutes
    const std::int64_t start = number(member(time, "start")).value_or(0);
    const std::int64_t priority = number(member(job, "priority")).value_or(0);
    std::string_view repaired;
    const std::string_view run = runs_.name(name, repaired);
    status_ = builder_.add(
        {.id = run,
         .user = user,
         .gpus = of_job.count(),
         .task_gpus = builder_.with_tasks() ? gpus.task_gpus() : 1,
         .asks = gpus.asks(),
         .submit = {*submitted * 1000},
         .duration = seconds(*elapsed),
         .gpu_type = of_job.type,
         .runs_on = runs_on,
         .logged = {.time_limit =
                        limit > 0 && limit <= kMsMax / 60'000 ? seconds(limit * 60) : Duration{},
                    .priority = priority > 0 && priority <= kPriorityMax ? priority : 0,
                    .start = start > 0 && in_range(start) ? Time{start * 1000} : Time::never()},
         .partition = partition,
         .qos = qos,
         .account = account,
         .state = state_word(ended),
         .repaired = repaired},
        where);
  }

 private:
  static bool in_range(std::optional<std::int64_t> s) {
    return s && *s >= 0 && *s <= kMsMax / 1000;
  }
  static std::string user_of(const json& job) {
    std::string user = text(member(job, "user"));
    if (user.empty()) user = text(member(member(job, "association"), "user"));
    return user.empty() ? text(member(job, "account")) : user;
  }
  void reject(std::string_view reason, Where where, const std::string& name) {
    status_ = builder_.reject(reason, where, "job " + name);
  }

  const ReadOptions& options_;
  WorkloadBuilder& builder_;
  SlurmRuns runs_;
  Status status_;
};

}  // namespace

Status read_slurm_json(ByteSource& source, const ReadOptions& options, WorkloadBuilder& builder) {
  constexpr int kDepthOfJobs = 2;  // within the list within the whole
  if (!builder.conditions().empty())
    return input_error("--where takes a table: ask sacct for --parsable2 instead of --json");
  SourceBuffer buffer(source);
  std::istream stream(&buffer);
  SlurmJobs jobs(options, builder);
  bool inside = false;
  const auto each = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::key && depth == 1) inside = parsed == "jobs";
    if (event != json::parse_event_t::object_end || depth != kDepthOfJobs || !inside) return true;
    jobs.take(parsed, buffer.where());
    return false;
  };
  const json whole = json::parse(stream, each, false);
  if (buffer.error()) return tl::unexpected(*buffer.error());
  FL_TRY(Status(jobs.status()));
  if (whole.is_discarded())
    return input_error("{}: the JSON is broken, or ends too early", buffer.where().text());
  if (!member(whole, "jobs").is_array())
    return input_error("{}: the JSON of sacct has a list of jobs", source.name());
  builder.say_times("Unix times");
  builder.start_at_zero();
  return {};
}

}  // namespace fairlead
