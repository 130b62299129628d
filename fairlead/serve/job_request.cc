#include "fairlead/serve/job_request.h"

#include "fairlead/base/printable.h"
#include "fairlead/measure/command_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr std::uint32_t kProcessesMax = 64;
constexpr std::uint32_t kRetriesMax = 1000;
constexpr std::uint32_t kMemoryMaxMb = 1'000'000'000;
constexpr double kSpanMaxS = 1e9;
// Chosen: the processors of a job without GPUs that states none.
constexpr std::uint32_t kCpuMilliWithoutGpus = 1000;
constexpr std::uint32_t kIndexMax = 1'000'000'000;
constexpr std::array<std::string_view, 3> kTaskFields = {"command", "name", "array_index"};
constexpr std::string_view kIndexVariable = "FAIRLEAD_ARRAY_INDEX=";

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {}

  Result<std::string> name(const char* field) const {
    if (!object_.contains(field)) return std::string();
    const json& value = object_[field];
    if (!value.is_string()) return input_error("{} must be a string", field);
    auto text = value.get<std::string>();
    if (text.size() > kNameBytesMax || !is_printable(text)) {
      return input_error("{} must be at most {} bytes that can be printed", field, kNameBytesMax);
    }
    return text;
  }

  Result<std::vector<std::string>> texts(const char* field) const {
    std::vector<std::string> list;
    if (!object_.contains(field)) return list;
    if (!object_[field].is_array()) return input_error("{} must be a list of strings", field);
    for (const json& value : object_[field]) {
      if (!value.is_string() || has_nul(value.get<std::string>())) {
        return input_error("{} must be a list of strings", field);
      }
      list.push_back(value.get<std::string>());
    }
    return list;
  }

  Result<bool> flag(const char* field, bool fallback) const {
    if (!object_.contains(field)) return fallback;
    if (!object_[field].is_boolean()) return input_error("{} must be true or false", field);
    return object_[field].get<bool>();
  }

  Result<std::uint32_t> number(const char* field, std::uint32_t fallback, std::uint32_t min,
                               std::uint32_t max) const {
    if (!object_.contains(field)) return fallback;
    const json& value = object_[field];
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < min ||
        value.get<std::uint64_t>() > max) {
      return input_error("{} must be a whole number from {} to {}: {}", field, min, max,
                         value.dump());
    }
    return value.get<std::uint32_t>();
  }

  // Returns the jobs of a list of numbers.
  Result<std::vector<JobId>> jobs(const char* field) const {
    std::vector<JobId> jobs;
    if (!object_.contains(field)) return jobs;
    const json& list = object_[field];
    if (!list.is_array() || !std::ranges::all_of(list, &json::is_number_unsigned))
      return input_error("{} must be a list of numbers of jobs", field);
    for (const json& job : list) {
      // No job has a larger row.
      constexpr std::uint64_t kRowMax = std::numeric_limits<std::uint32_t>::max();
      jobs.emplace_back(std::min(job.get<std::uint64_t>(), kRowMax));
    }
    return jobs;
  }

  Result<Priority> priority() const {
    if (!object_.contains("priority")) return Priority::kNormal;
    const json& value = object_["priority"];
    const auto named = priority_named(value.is_string() ? value.get<std::string>() : std::string());
    if (!named) return input_error("priority must be low, normal, high or urgent");
    return *named;
  }

  Result<Notify> notify() const {
    if (!object_.contains("notify")) return Notify::kNever;
    const json& value = object_["notify"];
    const auto named = notify_named(value.is_string() ? value.get<std::string>() : std::string());
    if (!named) return input_error("notify must be never, fail or end");
    return *named;
  }

  // An attribute of 0 is not named.
  Result<JobExtras> extras() const {
    JobExtras extras = kSubmittedExtras;
    extras.pinned = kPinnedUntilSeen;
    Status status;
    JobExtras::each(extras, [&](const char* name, auto& value, const auto& range) {
      if (!status) return;
      const Result<std::uint32_t> read = number(name, value, 0, range.max);
      if (read) value = *read;
      if (!read) status = tl::unexpected(read.error());
    });
    FL_TRY(status);
    // A job that saves from time to time loses little.
    if (extras.checkpoint_every_s > 0 && !object_.contains("pinned")) extras.pinned = kMayMove;
    return extras;
  }

 private:
  const json& object_;
};

Result<TypeMask> types_of(const std::vector<std::string>& names, const Cluster& cluster) {
  if (names.empty()) return kAllTypes;
  TypeMask types = 0;
  for (const std::string& name : names) {
    const GpuTypeId type = cluster.type_named(name);
    if (type.is_none()) {
      return input_error("types: no such GPU here (there are: {}): {}",
                         fmt::join(cluster.type_names.begin(), cluster.type_names.end(), ", "),
                         name);
    }
    types |= type_bit(type);
  }
  return types;
}

// Returns a text that may be a name: "" if it has characters that cannot be printed.
std::string as_name(const std::string& text) {
  return is_printable(text) ? text.substr(0, kNameBytesMax) : std::string();
}

// In seconds; zero where there is none.
Result<Duration> span_of(const json& object, const char* field) {
  if (!object.contains(field) || object[field].is_null()) return Duration();
  const json& span = object[field];
  const double s = span.is_number() ? span.get<double>() : -1;
  if (!(s > 0 && s <= kSpanMaxS)) return input_error("{} must be a positive number", field);
  return Duration{std::max<std::int64_t>(1, std::llround(s * 1000))};
}

// Returns the thousandths of a processor; 0: not stated.
Result<std::uint32_t> cpu_milli_of(const json& object) {
  constexpr double kMin = 0.01;  // the kernel's least quota
  constexpr double kMax = 100'000;
  if (!object.contains("cpus")) return std::uint32_t{0};
  const double cpus = object["cpus"].is_number() ? object["cpus"].get<double>() : 0;
  if (!(cpus >= kMin && cpus <= kMax))
    return input_error("cpus must be a number from {} to {}", kMin, kMax);
  return static_cast<std::uint32_t>(std::lround(cpus * 1000));
}

// Reads the memory and the processors that it needs.
Status read_sizes(const json& object, const Fields& fields, Submission& submission) {
  FL_TRY_ASSIGN(gpu_memory_mb, fields.number("gpu_memory_mb", 0, 1, kMemoryMaxMb));
  FL_TRY_ASSIGN(memory_mb, fields.number("memory_mb", 0, 1, kMemoryMaxMb));
  FL_TRY_ASSIGN(cpu_milli, cpu_milli_of(object));
  submission.gpu_memory_mb = gpu_memory_mb;
  submission.memory_mb = memory_mb;
  submission.cpu_milli = cpu_milli;
  return {};
}

// Reads the conditions, and the place in an array of jobs.
Status read_tasks(const json& object, const Fields& fields, Submission& submission) {
  FL_TRY_ASSIGN(after, fields.jobs("after"));
  FL_TRY_ASSIGN(after_ok, fields.jobs("after_ok"));
  submission.after = after_each(std::move(after), false);
  std::ranges::copy(after_each(std::move(after_ok), true), std::back_inserter(submission.after));
  if (!object.contains("array_index")) return {};
  FL_TRY_ASSIGN(index, fields.number("array_index", 0, 0, kIndexMax));
  std::erase_if(submission.environment,
                [](const std::string& variable) { return variable.starts_with(kIndexVariable); });
  submission.environment.push_back(fmt::format("{}{}", kIndexVariable, index));
  return {};
}

// Reads the terminal and the input. REQUIRES: the number of processes is set.
Status read_streams(const Fields& fields, Submission& submission) {
  FL_TRY_ASSIGN(has_terminal, fields.flag("terminal", false));
  if (has_terminal && submission.processes != 1)
    return input_error("terminal: only a job of one process can have one");
  FL_TRY_ASSIGN(has_input, fields.flag("input", false));
  if (has_terminal && has_input)
    return input_error("input: a terminal is the input of its job already");
  submission.has_terminal = has_terminal;
  submission.has_input = has_input;
  return {};
}

// Reads the limit on its time, the end of an idle job, the priority, the notification and the hook.
Status read_services(const json& object, const Fields& fields, Submission& submission) {
  FL_TRY_ASSIGN(limit, span_of(object, "limit_s"));
  FL_TRY_ASSIGN(idle_end, span_of(object, "idle_end_s"));
  if (idle_end.ms > 0 && idle_end < kIdleMin)
    return input_error("idle_end_s must be at least {}", kIdleMin.ms / 1000);
  FL_TRY_ASSIGN(priority, fields.priority());
  FL_TRY_ASSIGN(notify, fields.notify());
  FL_TRY_ASSIGN(has_hook, fields.flag("hook", true));
  submission.limit = limit;
  submission.idle_end = idle_end;
  submission.priority = priority;
  submission.notify = notify;
  submission.has_hook = has_hook;
  return {};
}

Result<Submission> parse_submission_of(const json& object) {
  const Fields fields(object);
  Submission submission;
  FL_TRY_ASSIGN(command, fields.texts("command"));
  if (command.empty() || command.front().empty()) return input_error("command is missing");
  FL_TRY_ASSIGN(environment, fields.texts("environment"));
  const bool has_names = std::ranges::all_of(environment, [](const std::string& variable) {
    const std::size_t equals = variable.find('=');
    return equals != std::string::npos && equals > 0;
  });
  if (!has_names) return input_error("environment must be a list of NAME=value");
  const bool has_folder = object.contains("folder") && object["folder"].is_string();
  submission.folder = has_folder ? object["folder"].get<std::string>() : std::string();
  if (!submission.folder.starts_with('/') || has_nul(submission.folder)) {
    return input_error("folder must be an absolute path");
  }
  FL_TRY_ASSIGN(umask, fields.number("umask", 022, 0, 0777));
  FL_TRY_ASSIGN(processes, fields.number("processes", 1, 1, kProcessesMax));
  FL_TRY_ASSIGN(retries, fields.number("retries", 0, 0, kRetriesMax));
  submission.command = std::move(command);
  submission.environment = std::move(environment);
  submission.umask = umask;
  submission.processes = processes;
  submission.retries = retries;
  FL_TRY(read_sizes(object, fields, submission));
  FL_TRY(read_services(object, fields, submission));
  FL_TRY(read_streams(fields, submission));
  FL_TRY(read_tasks(object, fields, submission));
  return submission;
}

// Completes a job that needs no GPU. Error: it asks for something that only jobs with GPUs have.
Status take_no_gpus(const json& object, Submission& submission, JobExtras& extras) {
  for (const char* field : {"types", "gpu_memory_mb", "idle_end_s", "checkpoint_every_s"}) {
    if (object.contains(field) && !object[field].empty())
      return input_error("{}: a job without GPUs has none", field);
  }
  if (extras.copies_max != 1) return input_error("copies_max: a job without GPUs has no copies");
  extras.pinned = kMayMove;
  if (submission.cpu_milli == 0) submission.cpu_milli = kCpuMilliWithoutGpus;
  return {};
}

Result<JobRequest> parse_job_request(const json& object, const Cluster& cluster) {
  if (!object.is_object()) return input_error("a job is a JSON object");
  const Fields fields(object);
  FL_TRY_ASSIGN(submission, parse_submission_of(object));
  FL_TRY_ASSIGN(gpus, fields.number("gpus", 1, 0, 100'000));
  FL_TRY_ASSIGN(extras, fields.extras());
  if (gpus == 0) FL_TRY(take_no_gpus(object, submission, extras));
  if (extras.copies_max != 1) {
    if (object.value("pinned", kMayMove) != kMayMove)
      return input_error("pinned: copies of a job exchange their work, so they can save it");
    extras.pinned = kMayMove;
  }
  if (extras.copies_max != 1 && (submission.processes != 1 || submission.has_terminal))
    return input_error("copies_max: a job with copies is one process, without a terminal");
  FL_TRY_ASSIGN(name, fields.name("name"));
  FL_TRY_ASSIGN(model, fields.name("model"));
  FL_TRY_ASSIGN(type_names, fields.texts("types"));
  FL_TRY_ASSIGN(types, types_of(type_names, cluster));
  FL_TRY_ASSIGN(declared, span_of(object, "declared_s"));
  if (name.empty()) name = model.empty() ? as_name(program_of(submission.command)) : model;
  if (model.empty()) model = as_name(model_of(submission.command));
  return JobRequest{.name = std::move(name),
                    .model = std::move(model),
                    .gpus = gpus,
                    .extras = extras,
                    .types = types,
                    .declared = declared,
                    .submission = std::move(submission)};
}

}  // namespace

Result<JobRequests> parse_job_requests(std::string_view body, const Cluster& cluster) {
  json object = json::parse(body, nullptr, false);
  JobRequests requests;
  if (!object.is_object() || !object.contains("tasks")) {
    FL_TRY_ASSIGN(job, parse_job_request(object, cluster));
    requests.jobs.push_back(std::move(job));
    return requests;
  }
  FL_TRY_ASSIGN(at_once, Fields(object).number("at_once", 0, 0, kTasksMax));
  const json tasks = std::move(object["tasks"]);
  object.erase("tasks");
  if (!tasks.is_array() || tasks.empty() || tasks.size() > kTasksMax)
    return input_error("tasks must be a list of 1 to {} tasks", kTasksMax);
  requests.are_tasks = true;
  requests.at_once = at_once;
  for (const json& task : tasks) {
    if (!task.is_object()) return input_error("a task is a JSON object");
    for (const auto& field : task.items()) {
      if (std::ranges::find(kTaskFields, field.key()) == kTaskFields.end())
        return input_error("a task has {}: {}", fmt::join(kTaskFields, ", "), field.key());
    }
    json whole = object;
    whole.update(task);
    FL_TRY_ASSIGN(job, parse_job_request(whole, cluster));
    if (job.submission.has_terminal || job.submission.has_input)
      return input_error("tasks have neither a terminal nor an input");
    requests.jobs.push_back(std::move(job));
  }
  return requests;
}

}  // namespace fairlead
