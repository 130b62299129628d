#include "fairlead/report/result_files.h"

#include "fairlead/metrics/run_result.h"
#include "fairlead/report/csv_writer.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <system_error>

namespace fairlead {
namespace {

void optional_seconds(CsvWriter& csv, std::optional<Duration> value) {
  value ? csv.seconds(*value) : csv.empty();
}

void optional_number(CsvWriter& csv, std::optional<double> value) {
  value ? csv.number(*value) : csv.empty();
}

std::optional<Duration> since_start(std::optional<Time> t) {
  return t ? std::optional(*t - Time{}) : std::nullopt;
}

void job_row(CsvWriter& csv, const JobResult& job) {
  csv.text(job.job);
  csv.text(job.user);
  csv.text(job.model);
  csv.integer(job.gpus);
  csv.seconds(job.submit - Time{});
  optional_seconds(csv, since_start(job.start));
  optional_seconds(csv, since_start(job.finish));
  optional_seconds(csv, job.jct);
  optional_seconds(csv, job.queue);
  csv.text(job.gpu_types);
  csv.integer(job.preemptions);
  csv.integer(job.migrations);
  csv.text(job.status);
}

Status write_jobs(ResultFolder& folder, const Metrics& metrics, const RunFacts& facts) {
  FL_TRY_ASSIGN(file, OutputFile::create(folder.file("jobs.csv")));
  const GpuCosts& costs = facts.costs;
  CsvWriter csv(file, fmt::format("job,user,model,gpus,submit_s,start_s,finish_s,jct_s,queue_s,"
                                  "gpu_types,preemptions,migrations,status,mix_speed{}{}",
                                  costs.total.energy_jobs_kwh ? ",energy_kwh" : "",
                                  costs.total.jobs ? ",cost" : ""));
  JobResult row;
  for (JobId job : ids<JobId>(metrics.jobs().size())) {
    if (metrics.jobs().status[job] == JobStatus::kUnseen) continue;
    get_job_result(metrics, job, row);
    job_row(csv, row);
    const double mix_speed = facts.bounds.has(job) ? facts.bounds[job].mix_speed : 1;
    mix_speed == 1 ? csv.integer(1)
                   : csv.number(mix_speed);  // 1 is frequent, and integers are faster
    const auto cost = [&](const IdVector<JobId, double>& of) {
      csv.number(of.has(job) ? of[job] : 0);
    };
    if (costs.total.energy_jobs_kwh) cost(costs.energy_kwh);
    if (costs.total.jobs) cost(costs.price);
    csv.end_row();
  }
  return folder.add(std::move(file), "jobs.csv");
}

Status write_users(ResultFolder& folder, const Summary& summary) {
  FL_TRY_ASSIGN(file, OutputFile::create(folder.file("users.csv")));
  const bool has_groups = !summary.groups.empty();
  const CostSummary& cost = summary.cost;
  CsvWriter csv(
      file,
      fmt::format("user,tickets,jobs,gpu_hours,work_gpu_hours,entitled_gpu_hours,"
                  "throughput_share,contended_entitled_gpu_hours,contended_useful_gpu_hours,"
                  "contended_effective_gpu_hours,contended_work_gpu_hours,jct_avg_s,queue_avg_s,"
                  "bounded_ftf_max{}{}{}",
                  has_groups ? ",group" : "", cost.energy_jobs_kwh ? ",energy_kwh" : "",
                  cost.jobs ? ",cost" : ""));
  for (const UserSummary& user : summary.users) {
    csv.text(user.user);
    csv.integer(user.tickets);
    csv.integer(user.jobs);
    csv.number(user.gpu_hours);
    csv.number(user.work_gpu_hours);
    csv.number(user.entitled_gpu_hours);
    csv.number(user.throughput_share);
    csv.number(user.contended_entitled_gpu_hours);
    csv.number(user.contended_useful_gpu_hours);
    csv.number(user.contended_effective_gpu_hours);
    csv.number(user.contended_work_gpu_hours);
    optional_number(csv, user.jct_avg_s);
    optional_number(csv, user.queue_avg_s);
    optional_number(csv, user.bounded_ftf_max);
    if (has_groups) csv.text(user.group);
    if (user.energy_kwh) csv.number(*user.energy_kwh);
    if (user.cost) csv.number(*user.cost);
    csv.end_row();
  }
  return folder.add(std::move(file), "users.csv");
}

Status write_timeline(ResultFolder& folder, const Metrics& metrics) {
  FL_TRY_ASSIGN(file, OutputFile::create(folder.file("timeline.csv")));
  CsvWriter csv(file, "t_s,user,gpus_held,gpus_entitled,jobs_running,jobs_waiting");
  for (const TimelinePoint& point : timeline_of(metrics)) {
    csv.seconds(point.t - Time{});
    csv.text(point.user);
    csv.number(point.gpus_allocated);
    csv.number(point.gpus_entitled);
    csv.number(point.jobs_running);
    csv.number(point.jobs_waiting);
    csv.end_row();
  }
  return folder.add(std::move(file), "timeline.csv");
}

Status write_text(ResultFolder& folder, std::string_view name, const std::string& text) {
  FL_TRY_ASSIGN(file, OutputFile::create(folder.file(name)));
  file.write(text);
  return folder.add(std::move(file), name);
}

}  // namespace

Result<ResultFolder> ResultFolder::open(const std::filesystem::path& path) {
  ResultFolder folder(path);
  std::vector<std::filesystem::path> missing;
  std::error_code error;
  for (auto part = path.lexically_normal();
       !part.empty() && !std::filesystem::exists(part, error);) {
    missing.push_back(part);
    part = part.has_filename() ? part.parent_path() : part.parent_path().parent_path();
  }
  for (auto part = missing.rbegin(); part != missing.rend(); ++part) {
    if (!std::filesystem::create_directory(*part, error) && error) {
      return run_error("{}: cannot create the folder: {}", part->string(), error.message());
    }
    folder.created_.push_back(*part);
  }
  if (!std::filesystem::is_directory(path, error)) {
    return run_error("{}: not a folder", path.string());
  }
  return folder;
}

ResultFolder::~ResultFolder() {
  std::error_code ignored;
  for (const auto& file : added_) std::filesystem::remove(file, ignored);
  if (is_staged()) std::filesystem::remove(written_, ignored);
  // remove() leaves a folder alone that is not empty.
  for (auto part = created_.rbegin(); part != created_.rend(); ++part) {
    std::filesystem::remove(*part, ignored);
  }
}

Status ResultFolder::stage() {
  const std::filesystem::path inside = path_ / kUnfinished;
  std::error_code error;
  std::filesystem::remove_all(inside, error);
  if (!error) std::filesystem::create_directory(inside, error);
  if (error) return run_error("{}: cannot create the folder: {}", inside.string(), error.message());
  written_ = inside;
  return {};
}

Status ResultFolder::keep() {
  if (is_staged()) {
    std::error_code error;
    std::filesystem::remove(path_ / "summary.json", error);
    for (const auto& file : added_) {
      if (!error) std::filesystem::rename(file, path_ / file.filename(), error);
      if (error) return run_error("{}: cannot be replaced: {}", path_.string(), error.message());
    }
    std::filesystem::remove(written_, error);
    written_ = path_;
  }
  created_.clear();
  added_.clear();
  return {};
}

Status ResultFolder::add(OutputFile output, std::string_view name) {
  FL_TRY(output.commit());
  add(name);
  return {};
}

Status write_results(ResultFolder& folder, const Metrics& metrics, const RunFacts& facts,
                     const Summary& summary, const RunStats& stats) {
  FL_TRY(write_jobs(folder, metrics, facts));
  FL_TRY(write_users(folder, summary));
  FL_TRY(write_timeline(folder, metrics));
  return write_summary(folder, summary, stats);
}

Status write_summary(ResultFolder& folder, const Summary& summary, const RunStats& stats) {
  FL_TRY(write_text(folder, "run.json", run_json(stats)));
  return write_text(folder, "summary.json", summary_json(summary));
}

Result<nlohmann::json> summary_beside(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path.parent_path() / "summary.json", ignored)) {
    return nlohmann::json::object();
  }
  return read_summary(path.parent_path());
}

Status check_journal_of(const nlohmann::json& summary, const std::filesystem::path& path,
                        const JournalEnd& end) {
  const auto hash = summary.find("journal_hash");
  if (hash == summary.end() || *hash == hash_text(end.hash)) return {};
  return input_error("{}: of another run than the summary.json beside it: its hash is {}, not {}",
                     path.string(), hash_text(end.hash), hash->dump());
}

Result<nlohmann::json> read_summary(const std::filesystem::path& folder) {
  std::ifstream file(folder / "summary.json");
  nlohmann::json summary = nlohmann::json::parse(file, nullptr, false);
  if (summary.is_discarded()) return run_error("{}: no summary.json", folder.string());
  return summary;
}

nlohmann::json read_run_facts(const std::filesystem::path& folder) {
  std::ifstream file(folder / "run.json");
  nlohmann::json facts = nlohmann::json::parse(file, nullptr, false);
  return facts.is_object() ? facts : nlohmann::json::object();
}

}  // namespace fairlead
