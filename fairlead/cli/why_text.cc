#include "fairlead/cli/why_text.h"

#include "fairlead/base/counted.h"
#include "fairlead/base/overloaded.h"
#include "fairlead/base/printable.h"
#include "fairlead/base/time_text.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/registry.h"
#include "fairlead/report/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlead {
namespace {

using nlohmann::json;

// Returns a date, or the time since time 0 of the trace if it has no calendar.
std::string time_text(const JobWhy& why, Time t) {
  return why.calendar_start_ms ? date_text(*why.calendar_start_ms + t.ms) : span_text(t.ms);
}
std::string length_text(Duration d) { return span_text(d.ms); }

// Returns a mean number of GPUs.
std::string mean_text(std::int64_t gpu_ms, Duration over) {
  const double mean = static_cast<double>(gpu_ms) / static_cast<double>(over.ms);
  const bool is_whole = gpu_ms % over.ms == 0;
  return number_text(mean, is_whole ? 0 : 1);
}

std::string name_of(const Tables& tables, JobId job) { return printable(tables.names[job]); }
std::string name_of(const Tables& tables, UserId user) {
  return printable(tables.users.names[user]);
}

// Returns "job-7 (ann, 4 GPUs)".
std::string job_text(const Tables& tables, JobId job) {
  return fmt::format("{} ({}, {})", name_of(tables, job), name_of(tables, tables.jobs.user[job]),
                     counted(tables.jobs.gpus[job], "GPU"));
}

// Lists the first few of `count` things.
template <class Text>
std::string list_text(std::size_t count, std::size_t most, Text text) {
  std::string list;
  for (std::size_t i = 0; i < std::min(count, most); ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", text(i));
  if (count > most) list += fmt::format(" and {} more", count - most);
  return list;
}

std::string policy_text(const Waits& waits) {
  const PolicyEntry* entry = find_policy(waits.policy());
  return entry == nullptr ? printable(waits.policy()) + "."
                          : fmt::format("{}: {}", waits.policy(), entry->summary);
}

// Returns the policy's note on a job or its user; empty: nothing that explains its wait.
std::string note_text(const Note& note) {
  constexpr double kGpuHour = 3'600'000;
  return std::visit(
      Overloaded{
          [](const note::Queue& queue) { return fmt::format("it is in queue {}", queue.queue); },
          [](const note::NodeTimer& timer) {
            return timer.left.ms == 0 ? std::string("it insists on one node no more")
                                      : "it insists on one node for " + length_text(timer.left);
          },
          [](const note::RackTimer& timer) {
            return timer.left.ms == 0 ? std::string("it insists on one rack no more")
                                      : "it insists on one rack for " + length_text(timer.left);
          },
          [](const note::Pass& pass) {
            return fmt::format("its pass is {:.2f}; the smallest runs next", pass.pass.value());
          },
          [](const note::Payoff& payoff) {
            return fmt::format("its gang is worth {:.3f} more than its price",
                               payoff.payoff.value());
          },
          [](const note::Debt& debt) {
            const double hours = static_cast<double>(debt.behind.gpu_ms) / kGpuHour;
            return fmt::format("its user is {:.2f} GPU-hours {} its share", std::abs(hours),
                               hours < 0 ? "ahead of" : "behind");
          },
          [](const note::Rank& rank) {
            return fmt::format("its value for early finishes is {} of the largest",
                               percent_text(rank.rank.value()));
          },
          [](const auto&) { return std::string(); },
      },
      note);
}

// The state during a piece of a job's wait.
class PieceText {
 public:
  // `why` must outlive it.
  explicit PieceText(const JobWhy& why)
      : why_(why), tables_(why.waits->tables()), policy_(why.waits->policy()), job_(why.job) {}

  std::string lines(const WaitPiece& piece) const {
    const Duration length = piece.to - piece.from;
    const double part = to_seconds(piece.causes.of(piece.cause())) / to_seconds(length);
    std::string text = fmt::format(
        "  {} for {}: {}{}.\n{}", time_text(why_, piece.from), length_text(length),
        why_cause_info(piece.cause()).text,
        part < 1 ? fmt::format(" ({} of this time)", percent_text(part)) : std::string(),
        other(piece));
    text += fmt::format("    Free: {}{}.\n", free(piece, length),
                        piece.facts.hole > 0
                            ? fmt::format("; together on one node at most {}", piece.facts.hole)
                            : std::string());
    if (const std::string allocated = allocated_to(piece, length); !allocated.empty())
      text += fmt::format("    Instead of it: {}.\n", allocated);
    for (const auto& [kind, fields] : piece.facts.noted) {
      const std::string said = note_text(note_of(kind, fields));
      if (!said.empty()) text += fmt::format("    {} notes: {}.\n", policy_, said);
    }
    return text;
  }

 private:
  std::string other(const WaitPiece& piece) const {
    if (piece.other.is_none()) return "";
    if (piece.cause() == WhyCause::kKept)
      return fmt::format("    They were kept for {}.\n", job_text(tables_, piece.other));
    if (piece.cause() == WhyCause::kPassed)
      return fmt::format("    It would have fitted, but {} went first.\n",
                         job_text(tables_, piece.other));
    return "";
  }

  // Counts only the types on which it can run.
  std::string free(const WaitPiece& piece, Duration length) const {
    std::vector<GpuTypeId> types;
    for (GpuTypeId type : ids<GpuTypeId>(tables_.cluster.type_names.size()))
      if ((tables_.jobs.types[job_] & type_bit(type)) != 0) types.push_back(type);
    return list_text(types.size(), kTypesMax, [&](std::size_t i) {
      return fmt::format("{} of {} {}", mean_text(piece.facts.free_gpu_ms[types[i].row()], length),
                         tables_.cluster.type_gpus[types[i]], tables_.cluster.type_names[types[i]]);
    });
  }

  std::string allocated_to(const WaitPiece& piece, Duration length) const {
    const std::vector<std::int64_t>& allocated = piece.facts.allocated_gpu_ms;
    std::vector<std::size_t> users(allocated.size());
    std::iota(users.begin(), users.end(), std::size_t{0});
    std::erase_if(users, [&](std::size_t user) { return allocated[user] == 0; });
    std::ranges::stable_sort(users, std::ranges::greater(),
                             [&](std::size_t user) { return allocated[user]; });
    return list_text(users.size(), kUsersMax, [&](std::size_t i) {
      return fmt::format("{} {}", name_of(tables_, UserId(users[i])),
                         mean_text(allocated[users[i]], length));
    });
  }

  static constexpr std::size_t kTypesMax = 5;
  static constexpr std::size_t kUsersMax = 5;

  const JobWhy& why_;
  const Tables& tables_;
  const std::string& policy_;
  const JobId job_;
};

std::string begin_text(const Tables& tables, const Wait& wait) {
  switch (wait.begin) {
    case WaitBegin::kSubmitted:
      return "from its submission";
    case WaitBegin::kStopped:
      return fmt::format(
          "after it was stopped{}{}",
          wait.stopped_for.is_none() ? std::string() : " for " + job_text(tables, wait.stopped_for),
          wait.cause == StopCause::kPolicy
              ? std::string()
              : fmt::format(", because {}", stop_cause_info(wait.cause).text));
    case WaitBegin::kHeldBack:
      return "after its user held it";
    case WaitBegin::kEvicted:
      return "after it lost GPUs that went down";
    case WaitBegin::kStartFailed:
      return "after its start failed";
  }
  return "";
}

// Describes the jobs that came later and went first, and the differences.
std::string passers_text(const Waits& waits, const JobWaits& job) {
  if (job.passed_by.empty()) return "";
  const Tables& tables = waits.tables();
  const Jobs& jobs = tables.jobs;
  const std::vector<JobId> passers(job.passed_by.begin(), job.passed_by.end());
  std::size_t shorter = 0;
  std::size_t smaller = 0;
  std::size_t others = 0;
  for (JobId other : passers) {
    shorter += waits.work(other) < waits.work(job.job);
    smaller += jobs.gpus[other] < jobs.gpus[job.job];
    others += jobs.user[other] != jobs.user[job.job];
  }
  constexpr std::size_t kShown = 2;
  return fmt::format(
      "\nCame later and went first: {} (with less work {}, with fewer GPUs {}, of other users "
      "{}):\n"
      "  {}.\n",
      passers.size() == 1 ? "1 job" : fmt::format("{} jobs", passers.size()), shorter, smaller,
      others, list_text(passers.size(), kShown, [&](std::size_t i) {
        return job_text(tables, passers[i]);
      }));
}

json piece_json(const Tables& tables, const WaitPiece& piece) {
  const auto over = static_cast<double>((piece.to - piece.from).ms);
  json free = json::object();
  for (GpuTypeId type : ids<GpuTypeId>(tables.cluster.type_names.size()))
    free[tables.cluster.type_names[type]] =
        static_cast<double>(piece.facts.free_gpu_ms[type.row()]) / over;
  json allocated = json::object();
  for (UserId user : ids<UserId>(piece.facts.allocated_gpu_ms.size())) {
    const std::int64_t gpu_ms = piece.facts.allocated_gpu_ms[user.row()];
    if (gpu_ms > 0) allocated[tables.users.names[user]] = static_cast<double>(gpu_ms) / over;
  }
  json noted = json::object();
  for (const auto& [kind, fields] : piece.facts.noted) {
    const NoteInfo& info = note_info(kind);
    noted[std::string(info.name)] = static_cast<double>(fields.value) / info.scale;
  }
  json value = {{"from_s", to_seconds(piece.from)},
                {"to_s", to_seconds(piece.to)},
                {"cause", why_cause_info(piece.cause()).name},
                {"free", free},
                {"hole", piece.facts.hole},
                {"held", allocated},
                {"noted", noted},
                {"other", nullptr}};
  if (!piece.other.is_none()) value["other"] = tables.names[piece.other];
  return value;
}

constexpr std::string_view kBegins[] = {"submitted", "stopped", "held", "evicted", "start_failed"};

json wait_json(const Tables& tables, const Wait& wait) {
  json value = {{"from_s", to_seconds(wait.from)},
                {"to_s", to_seconds(wait.to)},
                {"begin", kBegins[static_cast<std::size_t>(wait.begin)]},
                {"stop_cause", nullptr},
                {"stopped_for", nullptr},
                {"pieces", json::array()}};
  if (wait.begin == WaitBegin::kStopped) value["stop_cause"] = stop_cause_name(wait.cause);
  if (!wait.stopped_for.is_none()) value["stopped_for"] = tables.names[wait.stopped_for];
  for (const WaitPiece& piece : wait.pieces) value["pieces"].push_back(piece_json(tables, piece));
  return value;
}

}  // namespace

std::string causes_text(const CauseTimes& causes, TextStyle style) {
  std::vector<WhyCause> order;
  for (std::size_t i = 0; i < kWhyCauses; ++i) order.push_back(static_cast<WhyCause>(i));
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](WhyCause cause) { return causes.of(cause); });
  Table table({{"CAUSE", Align::kLeft}, {"WAITED"}, {"SHARE"}, {"MEANING", Align::kLeft}});
  for (WhyCause cause : order) {
    const Duration time = causes.of(cause);
    if (time.ms == 0) break;
    const WhyCauseInfo& info = why_cause_info(cause);
    table.add_row({std::string(info.name), length_text(time),
                   percent_text(to_seconds(time) / to_seconds(causes.total())),
                   std::string(info.text)});
  }
  return table.text(style);
}

nlohmann::json causes_json(const CauseTimes& causes) {
  json value = json::object();
  for (std::size_t i = 0; i < kWhyCauses; ++i) {
    const auto cause = static_cast<WhyCause>(i);
    if (causes.of(cause).ms > 0)
      value[std::string(why_cause_info(cause).name)] = to_seconds(causes.of(cause));
  }
  return value;
}

std::string why_job_text(const JobWhy& why, TextStyle style) {
  if (why.job.is_none()) return printable(fmt::format("It never waited: {}.", why.instead)) + "\n";
  const Waits& waits = *why.waits;
  const Tables& tables = waits.tables();
  const JobWaits& job = why.waits->jobs().front();
  std::vector<std::string> parts;
  parts.push_back(fmt::format("{} under {}\n", job_text(tables, why.job), policy_text(waits)));
  parts.push_back(fmt::format(
      "It was submitted at {}{}, waited {} in {} wait{}, and had GPUs for {}; it {} at {}.\n",
      time_text(why, why.submit), why.calendar_start_ms ? " UTC" : "", length_text(why.waited),
      job.waits.size(), job.waits.size() == 1 ? "" : "s", length_text(why.run_time),
      why.status == "pending" ? "was not done when the run ended" : why.status,
      time_text(why, why.end)));
  if (job.waits.empty()) return parts[0] + parts[1];
  parts.push_back("\n" + causes_text(job.causes, style));
  constexpr std::size_t kWaitsShown = 3;
  constexpr std::size_t kPiecesShown = 6;  // total over these waits
  const std::vector<const Wait*> longest = longest_waits(job, kWaitsShown);
  const PieceText pieces(why);
  for (const Wait* wait : longest) {
    parts.push_back(fmt::format("\nIt waited {} from {} on, {}:\n",
                                length_text(wait->to - wait->from), time_text(why, wait->from),
                                begin_text(tables, *wait)));
    for (const WaitPiece& piece : condensed(wait->pieces, kPiecesShown / longest.size()))
      parts.push_back(pieces.lines(piece));
  }
  if (job.waits.size() > longest.size())
    parts.push_back(fmt::format("\n{} shorter waits are left out; --json has all.\n",
                                job.waits.size() - longest.size()));
  parts.push_back(passers_text(*why.waits, job));
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

std::string why_job_json(const JobWhy& why) {
  json value = {{"status", why.status}, {"job", nullptr}, {"instead", why.instead}};
  if (why.job.is_none()) return json_text(value);
  const Waits& waits = *why.waits;
  const Tables& tables = waits.tables();
  const JobWaits& job = why.waits->jobs().front();
  json all = json::array();
  for (const Wait& wait : job.waits) all.push_back(wait_json(tables, wait));
  json passed_by = json::array();
  for (JobId other : job.passed_by) passed_by.push_back(tables.names[other]);
  value = {{"policy", waits.policy()},
           {"options", waits.options()},
           {"job", tables.names[why.job]},
           {"user", tables.users.names[tables.jobs.user[why.job]]},
           {"gpus", tables.jobs.gpus[why.job]},
           {"status", why.status},
           {"submit_s", to_seconds(why.submit)},
           {"end_s", to_seconds(why.end)},
           {"waited_s", to_seconds(why.waited)},
           {"held_s", to_seconds(why.run_time)},
           {"explained", job.causes.explained()},
           {"causes_s", causes_json(job.causes)},
           {"waits", all},
           {"passed_by", passed_by}};
  return json_text(value);
}

}  // namespace fairlead
