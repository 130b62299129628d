#include "fairlead/replay/why.h"

#include "fairlead/base/overloaded.h"
#include "fairlead/input/civil_time.h"
#include "fairlead/journal/checked_journal.h"
#include "fairlead/replay/resources_file.h"
#include "fairlead/report/result_files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

namespace fairlead {
namespace {

std::filesystem::path journal_of(const std::string& recorded) {
  std::filesystem::path path = recorded;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) path /= kJournalName;
  return path;
}

// Finds a job by its name, and how it ended.
class JobFate : public RecordSink {
 public:
  JobFate(std::string name, JobWhy& why) : name_(std::move(name)), why_(why) {}

  void on(const Record& record) override {
    why_.end = why_.status == "pending" ? record.t : why_.end;
    std::visit(Overloaded{
                   [&](const record::Arrived& arrived) {
                     if (arrived.asked.name != name_) return;
                     why_.job = arrived.asked.job;
                     why_.status = "pending";
                     why_.submit = record.t;
                   },
                   [&](const record::Rejected& rejected) {
                     if (rejected.asked.name != name_) return;
                     why_.instead = fmt::format("rejected: {}", rejected.reason);
                     why_.status = "rejected";
                   },
                   [&](const record::Unsubmitted& later) {
                     if (later.asked.name != name_) return;
                     why_.instead = "submitted after the end of the run";
                     why_.status = "pending";
                   },
                   [&](const record::Finished& what) { end(what.job, "finished"); },
                   [&](const record::Failed& what) { end(what.job, "failed"); },
                   [&](const record::Cancelled& what) { end(what.job, "cancelled"); },
                   [](const auto&) {},
               },
               record.what);
  }

 private:
  void end(JobId job, std::string_view status) {
    if (job == why_.job) why_.status = status;
  }

  const std::string name_;
  JobWhy& why_;
};

// Returns the limits of a run on tasks: empty ones if it had none.
Result<std::unique_ptr<TaskLimits>> limits_of(const std::filesystem::path& path) {
  FL_TRY_ASSIGN(summary, summary_beside(path));
  FL_TRY_ASSIGN(limits, limits_beside(path, summary));
  return std::make_unique<TaskLimits>(std::move(limits));
}

std::optional<std::int64_t> calendar_start_ms(const nlohmann::json& summary) {
  const auto start =
      summary.value(nlohmann::json::json_pointer("/assumed/starts_at"), nlohmann::json());
  if (!start.is_string()) return std::nullopt;
  const Parsed<Time> time = parse_utc_time(start.get<std::string>());
  return time ? std::optional(time->ms) : std::nullopt;
}

// Reads a journal, and checks that the summary beside it belongs to it.
Status read(const std::filesystem::path& path, RecordSink& sink) {
  FL_TRY_ASSIGN(summary, summary_beside(path));
  FL_TRY_ASSIGN(end, read_checked_journal(path, sink));
  return check_journal_of(summary, path, end);
}

Status check(const std::filesystem::path& path, const Waits& waits) {
  if (waits.status()) return {};
  return input_error("{}: {}", path.string(), waits.status().error().message);
}

ReportedWaits::Piece reported_piece(JobId job, const WaitPiece& piece, TypeMask types) {
  const auto over = static_cast<double>((piece.to - piece.from).ms);
  double free_gpu_ms = 0;
  for (GpuTypeId type : ids<GpuTypeId>(piece.facts.free_gpu_ms.size())) {
    if ((types & type_bit(type)) != 0)
      free_gpu_ms += static_cast<double>(piece.facts.free_gpu_ms[type.row()]);
  }
  return {.job = job,
          .from = piece.from,
          .to = piece.to,
          .cause = static_cast<std::size_t>(piece.cause()),
          .part = static_cast<double>(piece.causes.of(piece.cause()).ms) / over,
          .free = free_gpu_ms / over,
          .hole = piece.facts.hole,
          .other = piece.other};
}

}  // namespace

Result<JobWhy> why_job(const std::string& recorded, const std::string& name,
                       std::optional<PlacementTraits> traits) {
  const std::filesystem::path path = journal_of(recorded);
  JobWhy why;
  JobFate fate(name, why);
  WaitTotals totals;
  why.waits = std::make_unique<Waits>(
      [&](const JobSpec& job) { return job.name == name ? Watch::kRivals : Watch::kNot; }, traits);
  FL_TRY_ASSIGN(limits, limits_of(path));
  FL_TRY_ASSIGN(summary, summary_beside(path));
  why.calendar_start_ms = calendar_start_ms(summary);
  why.limits = std::move(limits);
  why.waits->set_limits(*why.limits);
  Tee tee({&fate, &totals, why.waits.get()});
  FL_TRY(read(path, tee));
  FL_TRY(check(path, *why.waits));
  if (why.status.empty()) return input_error("{}: there is no such job: {}", path.string(), name);
  if (why.job.is_none()) return why;
  why.waited = totals.jobs()[why.job].waited;
  why.run_time = totals.jobs()[why.job].run_time;
  return why;
}

Result<ReportedWaits> waits_to_report(const std::string& recorded, const WaitTotals& totals,
                                      std::size_t jobs) {
  constexpr std::size_t kWaits = 10;  // waits of a job
  constexpr std::size_t kPieces = 3;  // pieces of a wait
  const std::filesystem::path path = journal_of(recorded);
  const auto most = totals.largest(jobs, [](const WaitTotals::Job& job) { return job.waited.ms; });
  const std::set<JobId> shown(most.begin(), most.end());
  Waits waits(
      [&](const JobSpec& job) { return shown.contains(job.job) ? Watch::kPieces : Watch::kNot; });
  FL_TRY_ASSIGN(limits, limits_of(path));
  waits.set_limits(*limits);
  FL_TRY(read(path, waits));
  FL_TRY(check(path, waits));
  ReportedWaits reported;
  for (std::size_t i = 0; i < kWhyCauses; ++i)
    reported.causes.push_back(why_cause_info(static_cast<WhyCause>(i)).text);
  for (const JobWaits& job : waits.jobs()) {
    const TypeMask types = waits.tables().jobs.types[job.job];
    for (const Wait* wait : longest_waits(job, kWaits))
      for (const WaitPiece& piece : condensed(wait->pieces, kPieces))
        reported.pieces.push_back(reported_piece(job.job, piece, types));
  }
  return reported;
}

double times_waited(const WaitTotals::Job& job) {
  return to_seconds(job.waited) / to_seconds(std::max(job.work, kLeastWork));
}

const CauseTimes& RunWhy::causes_of(JobId job) const {
  return std::ranges::find(waits->jobs(), job, &JobWaits::job)->causes;
}

Result<RunWhy> why_run(const std::string& recorded, const RunWhyLimits& limits,
                       std::optional<PlacementTraits> traits) {
  const std::filesystem::path path = journal_of(recorded);
  RunWhy why;
  FL_TRY(read(path, why.totals));
  why.longest =
      why.totals.largest(limits.rows, [](const WaitTotals::Job& job) { return job.waited.ms; });
  const auto starves = [](const WaitTotals::Job& job) {
    return job.work.ms > 0 && times_waited(job) > kStarved ? times_waited(job) : 0;
  };
  why.starved = why.totals.largest(limits.rows, starves);
  for (const WaitTotals::Job& job : why.totals.jobs())
    if (job.came && starves(job) > 0) ++why.starved_jobs;
  why.one_in = static_cast<std::size_t>(1 + why.totals.job_moments() / limits.job_moments);

  std::set<JobId> listed(why.longest.begin(), why.longest.end());
  listed.insert(why.starved.begin(), why.starved.end());
  std::size_t came = 0;
  std::set<JobId> counted;
  why.waits = std::make_unique<Waits>(
      [&](const JobSpec& job) {
        const bool counts = came++ % why.one_in == 0;
        if (counts) counted.insert(counted.end(), job.job);
        return counts || listed.contains(job.job) ? Watch::kTimes : Watch::kNot;
      },
      traits);
  FL_TRY_ASSIGN(task_limits, limits_of(path));
  why.limits = std::move(task_limits);
  why.waits->set_limits(*why.limits);
  FL_TRY(read(path, *why.waits));
  FL_TRY(check(path, *why.waits));
  for (const JobWaits& job : why.waits->jobs())
    if (counted.contains(job.job)) why.causes += job.causes;
  return why;
}

}  // namespace fairlead
