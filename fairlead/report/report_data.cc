#include "fairlead/report/report_data.h"

#include "fairlead/report/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace fairlead {
namespace {

template <class IdType>
std::int64_t row_or_none(IdType id) {
  return id.is_none() ? -1 : std::int64_t{id.row()};
}

std::vector<JobId> submitted(const JobTable& jobs) {
  std::vector<JobId> rows;
  for (JobId job : ids<JobId>(jobs.size())) {
    if (jobs.was_submitted(job)) rows.push_back(job);
  }
  return rows;
}

int status_number(JobStatus status) {
  switch (status) {
    case JobStatus::kFinished:
      return 0;
    case JobStatus::kFailed:
      return 1;
    case JobStatus::kRejected:
      return 2;
    case JobStatus::kPending:
    case JobStatus::kUnsubmitted:
    case JobStatus::kUnseen:
      break;
  }
  return 3;
}

void write_cluster(JsonText& json, const RunRecords& records) {
  const auto& nodes = records.nodes();
  json.key("cluster");
  json.begin('{');
  json.key("name");
  json.text(records.cluster_name());
  json.column("gpu_types", records.gpu_types(), [&](const auto& type) { json.text(type); });
  json.key("racks");
  json.integer(static_cast<std::int64_t>(records.racks()));
  json.key("nodes");
  json.begin('{');
  json.column("name", nodes, [&](const auto& node) { json.text(node.name); });
  json.column("rack", nodes, [&](const auto& node) { json.integer(node.rack.row()); });
  json.column("type", nodes, [&](const auto& node) { json.integer(node.type.row()); });
  json.column("gpus", nodes, [&](const auto& node) { json.integer(node.gpus); });
  json.end('}');
  json.end('}');
}

// Hashes the cluster, users and jobs, without the jobs' models, which may be drawn from the run's seed.
std::string cluster_and_jobs(const RunRecords& records, Time origin) {
  std::string written;
  JsonText json([&](std::string_view piece) { written += piece; });
  write_cluster(json, records);
  json.column("users", records.user_names(), [&](const auto& name) { json.text(name); });
  const JobTable& jobs = records.jobs();
  const std::vector<JobId> rows = submitted(jobs);
  json.key("jobs");
  json.begin('{');
  json.column("id", rows, [&](JobId job) { json.text(jobs.names[job]); });
  json.column("user", rows, [&](JobId job) { json.integer(jobs.user[job].row()); });
  json.column("gpus", rows, [&](JobId job) { json.integer(jobs.gpus[job]); });
  json.column("submit_s", rows, [&](JobId job) { json.seconds(jobs.submit[job] - origin); });
  json.flush();
  return written;
}

}  // namespace

ReportData::ReportData(JsonText::Output output, std::string_view title) : json_(std::move(output)) {
  json_.begin('{');
  json_.key("version");
  json_.integer(2);
  json_.key("program");
  json_.text(program_text(version(), commit()));
  json_.key("title");
  json_.text(title);
}

Status ReportData::add(const Run& run) {
  const RunRecords& records = run.records;
  const std::string in_common = cluster_and_jobs(records, records.first_submission());
  if (first_run_.empty()) {
    begin_with(records, in_common);
  } else if (in_common != first_run_) {
    return input_error("one report shows runs of the same jobs on the same cluster, unlike: {}",
                       run.folder);
  }
  json_.begin('{');
  json_.key("folder");
  json_.text(run.folder);
  json_.key("label");
  json_.text(run.label);
  if (!run.inputs_hash.empty()) {
    json_.key("inputs_hash");
    json_.text(run.inputs_hash);
  }
  if (!run.command.empty()) {
    json_.key("command");
    json_.text(run.command);
  }
  if (!run.program.empty()) {
    json_.key("program");
    json_.text(run.program);
  }
  json_.key("summary");
  json_.raw(run.summary.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  write_outcome(records);
  const RunLoad load = records.load();
  write_load(load);
  write_network(records, load);
  write_run_pieces(records.run_pieces());
  write_notes(records.notes());
  if (run.waits != nullptr) write_waits(*run.waits);
  json_.end('}');
  return {};
}

void ReportData::begin_with(const RunRecords& records, std::string_view cluster_and_jobs) {
  const JobTable& jobs = records.jobs();
  first_run_ = cluster_and_jobs;
  origin_ = records.first_submission();
  jobs_ = submitted(jobs);
  rows_.resize(jobs.size(), -1);
  for (std::size_t row = 0; row < jobs_.size(); ++row) {
    rows_[jobs_[row]] = static_cast<std::int64_t>(row);
  }

  std::vector<std::string_view> models;
  std::map<std::string_view, std::int64_t> numbers;
  for (JobId job : jobs_) {
    const std::string_view model = jobs.models[job];
    const auto next = static_cast<std::int64_t>(models.size());
    if (numbers.try_emplace(model, next).second) models.push_back(model);
  }
  json_.key("first_submit_s");
  json_.seconds(origin_ - Time{});
  json_.raw(cluster_and_jobs);
  json_.column("model", jobs_, [&](JobId job) { json_.integer(numbers[jobs.models[job]]); });
  json_.end('}');
  json_.column("models", models, [&](std::string_view model) { json_.text(model); });
  json_.key("runs");
  json_.begin('[');
}

void ReportData::finish(std::string_view points, std::string_view answer) {
  json_.end(']');
  if (!answer.empty()) {
    json_.key("answer");
    json_.raw(answer);
  }
  if (!points.empty()) {
    json_.key("comparison");
    json_.raw(points);
  }
  json_.end('}');
  json_.flush();
}

void ReportData::write_outcome(const RunRecords& records) {
  const JobTable& jobs = records.jobs();
  const auto time = [&](Time t) { t == Time::never() ? json_.null() : json_.seconds(t - origin_); };
  json_.key("outcome");
  json_.begin('{');
  json_.column("start_s", jobs_, [&](JobId job) { time(jobs.start[job]); });
  json_.column("finish_s", jobs_, [&](JobId job) { time(jobs.finish[job]); });
  json_.column("queue_s", jobs_, [&](JobId job) {
    jobs.finish[job] == Time::never() ? json_.null() : json_.seconds(jobs.queued(job));
  });
  json_.column("preemptions", jobs_, [&](JobId job) { json_.integer(jobs.preemptions[job]); });
  json_.column("migrations", jobs_, [&](JobId job) { json_.integer(jobs.migrations[job]); });
  json_.column("status", jobs_, [&](JobId job) { json_.integer(status_number(jobs.status[job])); });
  json_.end('}');
}

void ReportData::write_load(const RunLoad& load) {
  const auto number = [&](double value) { json_.number(value); };
  const auto list = [&](const std::vector<double>& values) {
    json_.begin('[');
    for (double value : values) json_.number(value);
    json_.end(']');
  };
  json_.key("load");
  json_.begin('{');
  json_.key("bin_s");
  json_.seconds(load.bin);
  json_.column("gpus_held", load.gpus_allocated, number);
  json_.column("gpus_up", load.gpus_up, number);
  json_.column("gpus_fragmented", load.gpus_fragmented, number);
  json_.column("jobs_running", load.jobs_running, number);
  json_.column("jobs_waiting", load.jobs_waiting, number);
  json_.end('}');
  json_.key("shares");
  json_.begin('{');
  json_.column("user", load.shares, [&](const auto& share) { json_.integer(share.user.row()); });
  json_.column("held", load.shares, [&](const auto& share) { list(share.allocated); });
  json_.column("entitled", load.shares, [&](const auto& share) { list(share.entitled); });
  json_.end('}');
}

// Omitted if nothing was lost.
void ReportData::write_network(const RunRecords& records, const RunLoad& load) {
  constexpr double kMs = 1e3;
  const auto& lost_gpu_ms = records.jobs().lost_gpu_ms;
  if (std::ranges::none_of(jobs_, [&](JobId job) { return lost_gpu_ms[job] > 0; })) return;
  const auto whole_seconds = [&](double gpu_ms) { json_.integer(std::llround(gpu_ms / kMs)); };
  json_.key("network");
  json_.begin('{');
  json_.column("gpus_lost", load.gpus_lost, [&](double gpus) { json_.number(gpus); });
  json_.column("job_lost_gpu_s", jobs_, [&](JobId job) { whole_seconds(lost_gpu_ms[job]); });
  json_.column("rack_lost_gpu_s", records.rack_lost_gpu_ms(), whole_seconds);
  json_.end('}');
}

void ReportData::write_run_pieces(const RunPieces& run_pieces) {
  const auto& pieces = run_pieces.pieces();
  json_.key("holds");
  json_.begin('{');
  json_.key("resolution_s");
  json_.seconds(run_pieces.resolution());
  // Writes steps and lengths, which compress to half of the size of moments.
  std::int64_t row_before = 0;
  json_.column("job_step", pieces, [&](const auto& piece) {
    const std::int64_t row = row_of(piece.job);
    json_.integer(row - std::exchange(row_before, row));
  });
  json_.column("gpu", pieces, [&](const auto& piece) { json_.integer(piece.gpu); });
  json_.column("gpus", pieces, [&](const auto& piece) { json_.integer(piece.gpus); });
  Time begin_before = origin_;
  json_.column("begin_step_s", pieces, [&](const auto& piece) {
    json_.seconds(piece.begin - std::exchange(begin_before, piece.begin));
  });
  json_.column("for_s", pieces, [&](const auto& piece) { json_.seconds(piece.end - piece.begin); });
  json_.column("tier", pieces,
               [&](const auto& piece) { json_.integer(static_cast<std::int64_t>(piece.tier)); });
  json_.end('}');
}

void ReportData::write_notes(const NoteSample& sample) {
  const auto& notes = sample.notes();
  json_.key("notes");
  json_.begin('{');
  json_.key("omitted");
  json_.integer(sample.omitted());
  json_.column("t_s", notes, [&](const auto& noted) { json_.seconds(noted.t - origin_); });
  json_.column("kind", notes, [&](const auto& noted) {
    json_.integer(static_cast<std::int64_t>(noted.note.index()));
  });
  const auto column = [&](std::string_view name, auto write) {
    json_.column(name, notes, [&](const auto& noted) { write(fields_of(noted.note)); });
  };
  column("job", [&](const NoteFields& note) { json_.integer(row_of(note.job)); });
  column("user", [&](const NoteFields& note) { json_.integer(row_or_none(note.user)); });
  column("other_user",
         [&](const NoteFields& note) { json_.integer(row_or_none(note.other_user)); });
  column("gpu_type", [&](const NoteFields& note) { json_.integer(row_or_none(note.type)); });
  json_.column("value", notes, [&](const auto& noted) {
    const auto* made_room = std::get_if<note::MadeRoom>(&noted.note);
    if (made_room != nullptr) return json_.integer(row_of(made_room->stopped_for));
    json_.number(scaled_value(noted.note));
  });
  json_.end('}');
}

void ReportData::write_waits(const ReportedWaits& waits) {
  using Piece = ReportedWaits::Piece;
  const auto column = [&](std::string_view name, auto write) {
    json_.column(name, waits.pieces, write);
  };
  json_.key("waits");
  json_.begin('{');
  json_.column("causes", waits.causes, [&](std::string_view cause) { json_.text(cause); });
  column("job", [&](const Piece& piece) { json_.integer(row_of(piece.job)); });
  column("from_s", [&](const Piece& piece) { json_.seconds(piece.from - origin_); });
  column("to_s", [&](const Piece& piece) { json_.seconds(piece.to - origin_); });
  column("cause",
         [&](const Piece& piece) { json_.integer(static_cast<std::int64_t>(piece.cause)); });
  column("part", [&](const Piece& piece) { json_.number(piece.part); });
  column("free", [&](const Piece& piece) { json_.number(piece.free); });
  column("hole", [&](const Piece& piece) { json_.integer(piece.hole); });
  column("other", [&](const Piece& piece) { json_.integer(row_of(piece.other)); });
  json_.end('}');
}

// A run with other jobs than the first is refused, so every job of a run has a row.
std::int64_t ReportData::row_of(JobId job) const { return job.is_none() ? -1 : rows_[job]; }

}  // namespace fairlead
