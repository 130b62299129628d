#include "fairlead/cli/whatif.h"

#include "fairlead/cli/folder_lock.h"
#include "fairlead/cli/live_text.h"
#include "fairlead/cli/run.h"
#include "fairlead/compare/comparison.h"
#include "fairlead/compare/sweep.h"
#include "fairlead/report/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace fairlead {
namespace {

using nlohmann::json;

std::string time_text(const std::optional<double>& s) {
  return s ? span_text(static_cast<std::int64_t>(*s * 1000)) : "-";
}

std::string label(const std::string& policy, bool runs_now) {
  return runs_now ? policy.substr(0, policy.find(':')) + " (now)" : policy;
}

std::vector<WhatIf::User> users_of(const std::vector<JobResult>& jobs) {
  struct Sum {
    std::int64_t jobs = 0;
    std::int64_t ended = 0;
    double end_s = 0;
  };
  std::map<std::string, Sum> sums;
  for (const JobResult& job : jobs) {
    Sum& sum = sums[job.user];
    ++sum.jobs;
    if (!job.finish) continue;
    ++sum.ended;
    sum.end_s += to_seconds(*job.finish);
  }
  std::vector<WhatIf::User> users;
  users.reserve(sums.size());
  for (const auto& [user, sum] : sums) {
    users.push_back({.user = user, .jobs = sum.jobs});
    if (sum.ended > 0) users.back().end_mean_s = sum.end_s / static_cast<double>(sum.ended);
  }
  return users;
}

std::string policies_text(const std::vector<WhatIf>& outcomes, TextStyle style) {
  Table table({{"POLICY", Align::kLeft},
               {"MEAN END IN"},
               {"90 % END IN"},
               {"LAST ENDS IN"},
               {"LONGEST WAIT"},
               {"END"}});
  for (const WhatIf& outcome : outcomes) {
    table.add_row({label(outcome.policy, outcome.runs_now), time_text(outcome.end_mean_s),
                   time_text(outcome.end_p90_s), time_text(outcome.end_last_s),
                   time_text(outcome.wait_max_s),
                   fmt::format("{} of {}", outcome.ended, outcome.jobs)});
  }
  return table.text(style);
}

std::string users_text(const std::vector<WhatIf>& outcomes, TextStyle style) {
  std::vector<Table::Column> columns = {{"MEAN END IN", Align::kLeft}, {"JOBS"}};
  for (const WhatIf& outcome : outcomes)
    columns.push_back({label(outcome.policy, outcome.runs_now)});
  Table table(columns);
  for (std::size_t i = 0; i < outcomes.front().users.size(); ++i) {
    const WhatIf::User& user = outcomes.front().users[i];
    std::vector<std::string> cells = {user.user, count_text(user.jobs)};
    for (const WhatIf& outcome : outcomes) cells.push_back(time_text(outcome.users[i].end_mean_s));
    table.add_row(cells);
  }
  return table.text(style);
}

json number(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

}  // namespace

Result<WhatIf> what_if(const QueueNow& queue, const std::string& policy) {
  FL_TRY_ASSIGN(inputs, inputs_of(queue, policy));
  FL_TRY_ASSIGN(simulation, Simulation::make(std::move(inputs)));
  if (const Status ran = simulation.run(); !ran) {
    return run_error("{}: {}", policy, ran.error().message);
  }
  const RunResult result = simulation.result();
  WhatIf outcome{.policy = policy,
                 .runs_now = policy == queue.policy,
                 .jobs = std::ssize(result.jobs),
                 .ended = result.summary.finished,
                 .end_mean_s = result.summary.jct_avg_s,
                 .end_p90_s = result.summary.jct_p90_s,
                 .end_last_s = result.summary.makespan_s,
                 .users = users_of(result.jobs)};
  for (const JobResult& job : result.jobs) {
    if (!job.start) continue;
    outcome.wait_max_s = std::max(outcome.wait_max_s.value_or(0), to_seconds(*job.start));
  }
  return outcome;
}

std::string whatif_tables(const std::vector<WhatIf>& outcomes, TextStyle style) {
  return fmt::format("If no other job comes:\n\n{}\n{}", policies_text(outcomes, style),
                     users_text(outcomes, style));
}

std::string whatif_text(const QueueNow& queue, const std::vector<WhatIf>& outcomes,
                        TextStyle style) {
  return fmt::format("{}\nThis guesses that every policy starts from scratch, and that\n{}",
                     whatif_tables(outcomes, style), guesses_text(queue.left));
}

std::string whatif_json(const QueueNow& queue, const std::vector<WhatIf>& outcomes) {
  json policies = json::array();
  for (const WhatIf& outcome : outcomes) {
    json users = json::array();
    for (const WhatIf::User& user : outcome.users) {
      users.push_back(
          {{"user", user.user}, {"jobs", user.jobs}, {"end_mean_s", number(user.end_mean_s)}});
    }
    policies.push_back({{"policy", outcome.policy},
                        {"runs_now", outcome.runs_now},
                        {"jobs", outcome.jobs},
                        {"jobs_ended", outcome.ended},
                        {"end_mean_s", number(outcome.end_mean_s)},
                        {"end_p90_s", number(outcome.end_p90_s)},
                        {"end_last_s", number(outcome.end_last_s)},
                        {"wait_max_s", number(outcome.wait_max_s)},
                        {"users", std::move(users)}});
  }
  json guesses = json::array();
  for (const TimeLeft& left : queue.left) {
    guesses.push_back({{"job", left.job}, {"left_s", left.s}, {"source", left.source}});
  }
  return json_text({{"policies", std::move(policies)}, {"guesses", std::move(guesses)}});
}

Status write_whatif(const QueueNow& queue, const std::vector<std::string>& policies,
                    const std::filesystem::path& out) {
  FolderLock lock;  // released after `folder` removed the remains of an error
  FL_TRY_ASSIGN(folder, ResultFolder::open(out));
  FL_TRY(lock.take(out));
  std::vector<std::string> labels;
  labels.reserve(policies.size());
  for (const std::string& policy : policies)
    labels.push_back(label(policy, policy == queue.policy));
  const std::vector<std::string> names = folder_names(labels);
  ComparedPoint point;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    FL_TRY_ASSIGN(inputs, inputs_of(queue, policies[i]));
    FL_TRY_ASSIGN(ran, run_simulation(std::move(inputs), {.folder = out / names[i]}));
    point.policies.push_back({labels[i], names[i], {to_json_value(ran.summary)}});
  }
  FL_TRY_ASSIGN(file, OutputFile::create(folder.file("compare.json")));
  file.write(comparison_json(point, 1));
  FL_TRY(folder.add(std::move(file), "compare.json"));
  return folder.keep();
}

}  // namespace fairlead
