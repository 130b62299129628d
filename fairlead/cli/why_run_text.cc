#include "fairlead/base/printable.h"
#include "fairlead/base/time_text.h"
#include "fairlead/cli/why_text.h"
#include "fairlead/report/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

using nlohmann::json;

// Returns at most `bytes` bytes of the name; '~' marks a truncation.
std::string clipped(std::string_view name, std::size_t bytes) {
  if (name.size() <= bytes) return std::string(name);
  std::size_t end = bytes - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;  // UTF-8
  return std::string(name.substr(0, end)) + "~";
}

constexpr std::size_t kJobBytes = 18;
constexpr std::size_t kUserBytes = 12;

// Returns a table of jobs, at most 80 columns wide.
std::string jobs_text(const RunWhy& why, const std::vector<JobId>& jobs, TextStyle style) {
  const Tables& tables = why.waits->tables();
  Table table({{"JOB", Align::kLeft},
               {"USER", Align::kLeft},
               {"GPUS"},
               {"WORK"},
               {"WAITED"},
               {"AT ONCE"},
               {"MOSTLY", Align::kLeft}});
  for (JobId job : jobs) {
    const WaitTotals::Job& total = why.totals.jobs()[job];
    const CauseTimes& causes = why.causes_of(job);
    const WhyCause cause = causes.main();
    const double part = to_seconds(causes.of(cause)) / to_seconds(causes.total());
    table.add_row({clipped(tables.names[job], kJobBytes),
                   clipped(tables.users.names[tables.jobs.user[job]], kUserBytes),
                   std::to_string(tables.jobs.gpus[job]),
                   total.work.ms > 0 ? span_text(total.work.ms) : "-", span_text(total.waited.ms),
                   span_text(total.longest.ms),
                   fmt::format("{} {:.0f} %", why_cause_info(cause).name, 100 * part)});
  }
  return table.text(style);
}

json jobs_json(const RunWhy& why, const std::vector<JobId>& jobs) {
  const Tables& tables = why.waits->tables();
  json list = json::array();
  for (JobId job : jobs) {
    const WaitTotals::Job& total = why.totals.jobs()[job];
    list.push_back({{"job", tables.names[job]},
                    {"user", tables.users.names[tables.jobs.user[job]]},
                    {"gpus", tables.jobs.gpus[job]},
                    {"work_s", to_seconds(total.work)},
                    {"waited_s", to_seconds(total.waited)},
                    {"longest_s", to_seconds(total.longest)},
                    {"held_s", to_seconds(total.run_time)},
                    {"ended", total.ended},
                    {"explained", why.causes_of(job).explained()},
                    {"causes_s", causes_json(why.causes_of(job))}});
  }
  return list;
}

}  // namespace

std::string why_run_text(const RunWhy& why, TextStyle style) {
  const Waits& waits = *why.waits;
  const std::string explained = percent_text(why.causes.explained());
  std::string text =
      fmt::format("Under {} jobs waited {:.1f} h in all; {} of it is explained.\n",
                  printable(waits.policy()), to_seconds(why.totals.waited()) / 3600, explained);
  if (why.one_in > 1) text += fmt::format("The causes are from 1 job in {}.\n", why.one_in);
  if (why.longest.empty()) return text;
  text += "\n" + causes_text(why.causes, style);
  text += "\nThe longest waits, in all and at once:\n" + jobs_text(why, why.longest, style);
  if (why.starved_jobs == 0) return text;
  text += fmt::format(
      "\nStarved: {} waited over {} times {} work (of less than a minute: a minute). The worst:\n",
      why.starved_jobs == 1 ? "1 job" : count_text(why.starved_jobs) + " jobs", kStarved,
      why.starved_jobs == 1 ? "its" : "their");
  return text + jobs_text(why, why.starved, style);
}

std::string why_run_json(const RunWhy& why) {
  const Waits& waits = *why.waits;
  return json_text({{"policy", waits.policy()},
                    {"options", waits.options()},
                    {"waited_s", to_seconds(why.totals.waited())},
                    {"one_in", why.one_in},
                    {"explained", why.causes.explained()},
                    {"causes_s", causes_json(why.causes)},
                    {"longest", jobs_json(why, why.longest)},
                    {"starved", jobs_json(why, why.starved)},
                    {"starved_jobs", why.starved_jobs}});
}

}  // namespace fairlead
