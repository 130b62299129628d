#include "fairlead/cli/live_text.h"

#include "fairlead/base/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace fairlead {
namespace {

// "0-1,3", of numbers in order.
std::string ranges_text(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    ranges.push_back(last == i ? fmt::format("{}", numbers[i])
                               : fmt::format("{}-{}", numbers[i], numbers[last]));
    i = last + 1;
  }
  return fmt::format("{}", fmt::join(ranges, ","));
}

// "3 of 4 GPUs are in use, idle: K80:3; 2 jobs wait. Policy: gandiva-fair".
std::string use_text(const ClusterAnswer& cluster, const std::vector<JobAnswer>& jobs) {
  std::size_t gpus = 0;
  std::size_t used = 0;
  std::vector<JobAnswer::On> idle;
  for (const NodeAnswer& node : cluster.nodes) {
    gpus += node.gpus.size();
    JobAnswer::On of_node{.node = node.name, .gpus = {}};
    for (const GpuAnswer& gpu : node.gpus) {
      if (gpu.job || gpu.state == "busy" || gpu.state == "stopping") ++used;
      if (gpu.state == "idle") of_node.gpus.push_back(gpu.index);
    }
    if (!of_node.gpus.empty()) idle.push_back(std::move(of_node));
  }
  const auto waiting = std::ranges::count_if(jobs, &JobAnswer::is_waiting);
  return fmt::format("{} of {} GPUs in use{}; {} {}; policy {}\n", used, gpus,
                     idle.empty() ? "" : fmt::format(", idle: {}", on_text(idle)), waiting,
                     waiting == 1 ? "job waits" : "jobs wait", cluster.policy);
}

// Names the foreign processes on a GPU: "python of bob (pid 4242) ...".
std::string foreign_text(const GpuAnswer& gpu) {
  std::vector<std::string> processes;
  processes.reserve(gpu.foreign.size());
  for (const GpuAnswer::Foreign& process : gpu.foreign)
    processes.push_back(fmt::format("{} of {} (pid {}) {}", printable(process.name),
                                    printable(process.user), process.pid,
                                    printable(process.remark)));
  return fmt::format("{}", fmt::join(processes, "; "));
}

std::string reservation_lines(const ClusterAnswer& cluster) {
  std::string lines;
  for (const ReservationAnswer& one : cluster.reservations) lines += printable(one.text) + "\n";
  return lines;
}

// Returns a line for each GPU that is out of service or has a foreign process, and for each reservation.
std::string gpu_lines(const ClusterAnswer& cluster) {
  std::string lines;
  for (const NodeAnswer& node : cluster.nodes) {
    for (const GpuAnswer& gpu : node.gpus) {
      if (!gpu.outage.empty())
        lines += fmt::format("GPU {} is {}: {}\n", gpu.index,
                             gpu.state == "busy" ? "closed after its job" : gpu.state,
                             printable(gpu.outage));
      if (!gpu.foreign.empty()) lines += fmt::format("GPU {}: {}\n", gpu.index, foreign_text(gpu));
    }
  }
  return lines + reservation_lines(cluster);
}

std::string remark_on(const GpuAnswer& gpu) {
  if (gpu.outage.empty()) return foreign_text(gpu);
  return gpu.foreign.empty() ? printable(gpu.outage)
                             : fmt::format("{}; {}", printable(gpu.outage), foreign_text(gpu));
}

// Returns the remark on a job beside its row.
std::string remark_on(const JobAnswer& job) {
  if (job.idle_s)
    return fmt::format("GPUs idle for {}",
                       span_text(static_cast<std::int64_t>(*job.idle_s * 1000)));
  if (job.progress && job.progress->total > 0 && !job.is_done())
    return percent_text(job.progress->done / job.progress->total);
  return job.reason;
}

}  // namespace

std::string on_text(const std::vector<JobAnswer::On>& on) {
  std::vector<std::string> nodes;
  nodes.reserve(on.size());
  for (const JobAnswer::On& node : on)
    nodes.push_back(fmt::format("{}:{}", node.node, ranges_text(node.gpus)));
  return fmt::format("{}", fmt::join(nodes, " "));
}

std::string queue_text(const ClusterAnswer& cluster, const std::vector<JobAnswer>& jobs,
                       TextStyle style) {
  using enum Align;
  Table table({{"JOB"},
               {"NAME", kLeft},
               {"USER", kLeft},
               {"GPUS"},
               {"STATE", kLeft},
               {"SINCE"},
               {"GPU TIME"},
               {"ON", kLeft},
               {"", kLeft}});
  std::vector<JobAnswer> rows = jobs;
  std::stable_partition(rows.begin(), rows.end(), [](const JobAnswer& job) { return job.runs(); });
  for (const JobAnswer& job : rows) {
    table.add_row({fmt::format("{}", job.id), job.name, job.user, fmt::format("{}", job.gpus),
                   job.state, span_text(cluster.now_unix_ms - job.since_unix_ms),
                   span_text(static_cast<std::int64_t>(job.gpu_s * 1000)), on_text(job.on),
                   remark_on(job)});
  }
  return use_text(cluster, jobs) + gpu_lines(cluster) +
         (rows.empty() ? "" : "\n" + table.text(style));
}

std::string gpus_text(const ClusterAnswer& cluster, const std::vector<JobAnswer>& jobs,
                      TextStyle style) {
  using enum Align;
  Table table({{"GPU"},
               {"NODE", kLeft},
               {"TYPE", kLeft},
               {"STATE", kLeft},
               {"JOB"},
               {"NAME", kLeft},
               {"USER", kLeft},
               {"", kLeft}});
  std::map<std::int64_t, const JobAnswer*> by_id;
  for (const JobAnswer& job : jobs) by_id[job.id] = &job;
  for (const NodeAnswer& node : cluster.nodes) {
    for (const GpuAnswer& gpu : node.gpus) {
      const auto job = gpu.job ? by_id.find(*gpu.job) : by_id.end();
      const bool is_known = job != by_id.end();
      table.add_row({fmt::format("{}", gpu.index), node.name, node.type,
                     node.is_cordoned ? gpu.state + ", cordoned" : gpu.state,
                     gpu.job ? fmt::format("{}", *gpu.job) : "", is_known ? job->second->name : "",
                     is_known ? job->second->user : "", remark_on(gpu)});
    }
  }
  return table.text(style) + reservation_lines(cluster);
}

std::string users_text(const std::vector<UserAnswer>& users, TextStyle style) {
  std::vector<Table::Column> columns = {{"USER", Align::kLeft},
                                        {"TICKETS"},
                                        {"GPUS DUE"},
                                        {"ALLOCATED"},
                                        {"RUNNING"},
                                        {"WAITING"},
                                        {"GPU TIME"}};
  const bool has_limits =
      std::ranges::any_of(users, [](const UserAnswer& user) { return user.gpus_max > 0; });
  if (has_limits) columns.push_back({"MAX GPUS"});
  Table table(columns);
  for (const UserAnswer& user : users) {
    std::vector<std::string> row = {user.name,
                                    count_text(user.tickets),
                                    number_text(user.entitled_gpus, 1),
                                    count_text(user.allocated_gpus),
                                    count_text(user.jobs_running),
                                    count_text(user.jobs_waiting),
                                    span_text(static_cast<std::int64_t>(user.gpu_s * 1000))};
    if (has_limits) row.push_back(user.gpus_max == 0 ? "" : count_text(user.gpus_max));
    table.add_row(std::move(row));
  }
  return table.text(style);
}

std::string groups_text(const std::vector<GroupAnswer>& groups, TextStyle style) {
  if (groups.empty()) return {};
  Table table(
      {{"GROUP", Align::kLeft}, {"MAX GPUS"}, {"ALLOCATED"}, {"USERS WITH JOBS", Align::kLeft}});
  for (const GroupAnswer& group : groups) {
    table.add_row({group.name, count_text(group.gpus_max), count_text(group.allocated_gpus),
                   fmt::format("{}", fmt::join(group.users, ", "))});
  }
  return table.text(style);
}

std::string models_text(const ClusterAnswer& cluster, const std::vector<ModelAnswer>& models,
                        TextStyle style) {
  using enum Align;
  Table table({{"USER", kLeft},
               {"MODEL", kLeft},
               {"GPU TYPE", kLeft},
               {"GPUS"},
               {"TIER", kLeft},
               {"SPEED"},
               {"MEASURED"},
               {"CONFIDENCE"},
               {"LAST"}});
  for (const ModelAnswer& model : models) {
    table.add_row(
        {model.user, model.model, model.gpu_type, count_text(model.gpus), model.tier,
         fmt::format("{:.3g}", model.speed), fmt::format("{} x", model.measurements),
         percent_text(model.confidence),
         span_text(std::max<std::int64_t>(0, cluster.now_unix_ms - model.measured_unix_ms)) +
             " ago"});
  }
  return table.text(style);
}

std::string profiles_text(const std::vector<ModelAnswer>& models, TextStyle style) {
  using enum Align;
  Table table({{"USER", kLeft},
               {"MODEL", kLeft},
               {"GRADIENTS"},
               {"LARGEST TENSOR"},
               {"WORKERS"},
               {"SAMPLES"}});
  const ModelAnswer* last = nullptr;
  for (const ModelAnswer& model : models) {
    const bool is_listed =
        last != nullptr && last->user == model.user && last->model == model.model;
    if (is_listed || !model.profile) continue;
    last = &model;
    const ModelAnswer::Profile& seen = *model.profile;
    table.add_row({model.user, model.model, fmt::format("{:.1f} MB", seen.gradients_mb),
                   fmt::format("{:.1f} MB", seen.largest_tensor_mb), count_text(seen.workers),
                   seen.samples ? count_text(*seen.samples) : "-"});
  }
  return last == nullptr ? std::string() : table.text(style);
}

int exit_code_of(const JobAnswer& job) {
  if (job.state == "finished") return 0;
  if (job.signal.value_or(0) > 0) return static_cast<int>(128 + *job.signal);
  if (job.exit_code.value_or(0) > 0) return static_cast<int>(*job.exit_code);
  return job.state == "cancelled" ? 130 : 1;  // 130: like a command that Ctrl-C ended
}

std::string end_text(const JobAnswer& job) {
  std::string text =
      fmt::format("job {} {}", job.id, job.state == "cancelled" ? "was cancelled" : job.state);
  if (job.state == "rejected") text = fmt::format("job {} was rejected", job.id);
  if (!job.reason.empty() && job.state != "finished") return text + ": " + printable(job.reason);
  if (job.state != "failed") return text;
  if (job.signal.value_or(0) > 0) return fmt::format("{}: signal {}", text, *job.signal);
  return fmt::format("{}: exit code {}", text, job.exit_code.value_or(1));
}

}  // namespace fairlead
