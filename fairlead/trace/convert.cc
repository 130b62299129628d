#include "fairlead/trace/convert.h"

#include "fairlead/base/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace fairlead {
namespace {

// The optional columns that some job needs.
struct Extra {
  bool gpus_min = false, gpus_max = false, task_gpus = false, copies_max = false, tickets = false,
       gpu_type = false, runs_on = false, require_level = false, prefer_level = false,
       group = false, group_tickets = false, group_quota = false, state = false, time_limit = false,
       priority = false, partition = false, start = false;
};

Extra extra_of(const Workload& workload) {
  const Jobs& jobs = workload.jobs;
  const auto& types = workload.reference_types;
  const auto& tickets = workload.users.tickets;
  const Groups& groups = workload.users.groups;
  const auto any_logged = [&](auto has) {
    return std::any_of(jobs.logged.begin(), jobs.logged.end(), has);
  };
  return {.gpus_min = jobs.gpus_min != jobs.gpus,
          .gpus_max = jobs.gpus_max != jobs.gpus,
          .task_gpus = std::any_of(jobs.task_gpus.begin(), jobs.task_gpus.end(),
                                   [](auto gpus) { return gpus != 1; }),
          .copies_max = !jobs.copies_max.empty(),
          .tickets = std::any_of(tickets.begin(), tickets.end(), [](auto n) { return n != 1; }),
          .gpu_type = std::any_of(types.begin(), types.end(), [](auto& t) { return !t.empty(); }),
          .runs_on = !workload.runs_on.empty(),
          .require_level = std::ranges::any_of(
              workload.levels, [](const auto& named) { return !named.second.required.empty(); }),
          .prefer_level = std::ranges::any_of(
              workload.levels, [](const auto& named) { return !named.second.preferred.empty(); }),
          .group = !groups.empty(),
          .group_tickets = std::any_of(groups.tickets.begin(), groups.tickets.end(),
                                       [](auto n) { return n != 1; }),
          .group_quota =
              std::any_of(groups.quota.begin(), groups.quota.end(), [](auto n) { return n != 0; }),
          .state = !workload.states.empty(),
          .time_limit = any_logged([](const Logged& one) { return one.time_limit.ms != 0; }),
          .priority = any_logged([](const Logged& one) { return one.priority != 0; }),
          .partition = !jobs.partitions.empty(),
          .start = any_logged([](const Logged& one) { return one.start != Time::never(); })};
}

class NativeRows {
 public:
  explicit NativeRows(const Workload& workload) : workload_(workload), extra_(extra_of(workload)) {}

  std::string_view header() {
    text_ = "job,user,model,gpus,submit_s,duration_s";
    if (extra_.gpus_min) text_ += ",gpus_min";
    if (extra_.gpus_max) text_ += ",gpus_max";
    if (extra_.task_gpus) text_ += ",task_gpus";
    if (extra_.copies_max) text_ += ",copies_max";
    if (extra_.tickets) text_ += ",tickets";
    if (extra_.gpu_type) text_ += ",gpu_type";
    if (extra_.runs_on) text_ += ",runs_on";
    if (extra_.require_level) text_ += ",require_level";
    if (extra_.prefer_level) text_ += ",prefer_level";
    if (extra_.group) text_ += ",group";
    if (extra_.group_tickets) text_ += ",group_tickets";
    if (extra_.group_quota) text_ += ",group_quota";
    if (extra_.state) text_ += ",state";
    if (extra_.time_limit) text_ += ",time_limit_s";
    if (extra_.priority) text_ += ",priority";
    if (extra_.partition) text_ += ",partition";
    if (extra_.start) text_ += ",start_s";
    text_ += '\n';
    return text_;
  }

  // Valid until the next call.
  std::string_view row(JobId job) {
    const Jobs& jobs = workload_.jobs;
    const UserId user = jobs.user[job];
    const ModelId model = jobs.model[job];
    text_.clear();
    add_name(workload_.names[job]);
    add_name(workload_.users.names[user]);
    add_name(model.is_none() ? std::string_view() : workload_.models[model]);
    add_number(jobs.gpus[job]);
    add_seconds(jobs.arrival[job].ms);
    add_seconds(workload_.durations[job].ms);
    if (extra_.gpus_min) add_number(jobs.gpus_min[job]);
    if (extra_.gpus_max) add_number(jobs.gpus_max[job]);
    if (extra_.task_gpus) add_number(jobs.task_gpus[job]);
    if (extra_.copies_max)
      add_number_if(jobs.copies_max_of(job) != 0, [&] { return jobs.copies_max_of(job); });
    if (extra_.tickets) add_number(workload_.users.tickets[user]);
    if (extra_.gpu_type) add_name(workload_.reference_types[job]);
    if (extra_.runs_on) {
      const auto types = workload_.runs_on.find(job);
      add_name(types == workload_.runs_on.end() ? std::string_view() : types->second);
    }
    const auto levels = workload_.levels.find(job);
    const LevelNames named = levels == workload_.levels.end() ? LevelNames() : levels->second;
    if (extra_.require_level) add_name(named.required);
    if (extra_.prefer_level) add_name(named.preferred);
    if (extra_.group) add_group(workload_.users.group_of(user));
    if (extra_.state) {
      const std::uint8_t state = workload_.states[job];
      add_name(state == 0 ? std::string_view() : workload_.state_words[state - std::size_t{1}]);
    }
    add_logged(jobs.logged_of(job));
    text_.back() = '\n';
    return text_;
  }

 private:
  // Empty fields stand for what is not said.
  void add_logged(const Logged& logged) {
    if (extra_.time_limit) add_seconds_if(logged.time_limit.ms != 0, logged.time_limit.ms);
    if (extra_.priority) add_number_if(logged.priority != 0, [&] { return logged.priority; });
    if (extra_.partition) add_name(workload_.jobs.partition_name(logged));
    if (extra_.start) add_seconds_if(logged.start != Time::never(), logged.start.ms);
  }
  void add_seconds_if(bool has_some, std::int64_t ms) {
    if (has_some) return add_seconds(ms);
    text_ += ',';
  }
  // Empty fields stand for no group, and for no quota.
  void add_group(GroupId group) {
    const Groups& groups = workload_.users.groups;
    const bool has_quota = !group.is_none() && groups.quota[group] != 0;
    add_name(group.is_none() ? std::string_view() : groups.names[group]);
    if (extra_.group_tickets)
      add_number_if(!group.is_none(), [&] { return groups.tickets[group]; });
    if (extra_.group_quota) add_number_if(has_quota, [&] { return groups.quota[group]; });
  }
  void add_number_if(bool has_one, const auto& number) {
    if (has_one) return add_number(number());
    text_ += ',';
  }
  void add_name(std::string_view name) {
    const bool blank_end = name.starts_with(' ') || name.starts_with('\t') || name.ends_with(' ') ||
                           name.ends_with('\t');
    if (!blank_end && name.find_first_of(",\"\r\n") == name.npos) {
      text_ += name;
    } else {
      add_quoted(name);
    }
    text_ += ',';
  }
  void add_quoted(std::string_view name) {
    text_ += '"';
    for (const char c : name) text_.append(c == '"' ? 2 : 1, c);
    text_ += '"';
  }
  void add_number(std::int64_t number) { fmt::format_to(std::back_inserter(text_), "{},", number); }
  void add_seconds(std::int64_t ms) {
    fmt::format_to(std::back_inserter(text_), "{}.{:03}", ms / 1000, ms % 1000);
    text_.erase(text_.find_last_not_of('0') + 1);
    if (text_.back() == '.') text_.pop_back();
    text_ += ',';
  }

  const Workload& workload_;
  Extra extra_;
  std::string text_;
};

}  // namespace

void write_native(const Workload& workload, const std::function<void(std::string_view)>& write) {
  NativeRows rows(workload);
  write(rows.header());
  for (const JobId job : ids<JobId>(workload.jobs.size())) write(rows.row(job));
}

Status write_native(const Workload& workload, const std::filesystem::path& path) {
  FL_TRY_ASSIGN(file, OutputFile::create(path));
  write_native(workload, [&](std::string_view text) { file.write(text); });
  return file.commit();
}

}  // namespace fairlead
