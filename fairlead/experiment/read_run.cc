// Reads the data for the figures of an experiment from the folder of a run.
#include "fairlead/base/overloaded.h"
#include "fairlead/experiment/figures.h"
#include "fairlead/input/csv.h"
#include "fairlead/journal/journal.h"
#include "fairlead/metrics/figures.h"
#include "fairlead/report/result_files.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <set>

namespace fairlead {
namespace {

using nlohmann::json;

// The running jobs, and each job's stride pass, at the beginning of every quantum.
class ScheduleMeter : public RecordSink {
 public:
  ScheduleMeter(Duration quantum, std::int64_t quanta) : quantum_(quantum), quanta_(quanta) {}

  void on(const Record& record) override {
    // A decision at the start of a quantum belongs to it.
    while (sampled_ < quanta_ && record.t > Time{sampled_ * quantum_.ms}) sample();
    std::visit(
        Overloaded{
            [&](const record::Arrived& arrived) { names_[arrived.asked.job] = arrived.asked.name; },
            [&](const record::Place& place) { running_.insert(place.job); },
            [&](const OneOf<record::Stop, record::Finished, record::Failed, record::Cancelled,
                            record::Evicted, record::StartFailed> auto& end) {
              running_.erase(end.job);
            },
            [&](const Note& note) {
              const auto* pass = std::get_if<note::Pass>(&note);
              if (pass != nullptr) passes_[pass->job] = pass->pass;
            },
            [](const auto&) {},
        },
        record.what);
  }

  void add_to(RunFigures& figures) const {
    figures.schedule = schedule_;
    for (const auto& [job, name] : names_) {
      const auto sampled = samples_.find(job);
      if (sampled != samples_.end()) figures.passes[name] = sampled->second;
    }
  }

 private:
  void sample() {
    std::vector<std::string_view> names;
    for (const JobId job : running_) names.push_back(names_[job]);
    schedule_.push_back(names.empty() ? "-" : fmt::format("{}", fmt::join(names, "+")));
    for (const auto& [job, pass] : passes_) {
      samples_[job].resize(schedule_.size() - 1, "0");  // passes are noted when they change
      samples_[job].push_back(fmt::format("{}", pass.value()));
    }
    ++sampled_;
  }

  Duration quantum_;
  std::int64_t quanta_;
  std::int64_t sampled_ = 0;
  std::map<JobId, std::string> names_;
  std::set<JobId> running_;
  std::map<JobId, note::Millionths> passes_;
  std::map<JobId, std::vector<std::string>> samples_;
  std::vector<std::string> schedule_;
};

// Reads the columns jct_s, as hours, and user of jobs.csv.
Status read_job_times(const std::filesystem::path& path, RunFigures& figures) {
  const auto damaged = [&path] { return run_error("not a table of jobs: {}", path.string()); };
  FL_TRY_ASSIGN(source, ByteSource::open(path.string()));
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  const CsvReader::Column jct = csv.find("jct_s");
  const CsvReader::Column status = csv.find("status");
  const CsvReader::Column user = csv.find("user");
  for (const CsvReader::Column column : {jct, status, user}) {
    if (column == CsvReader::kMissing) return damaged();
  }
  for (;;) {
    FL_TRY_ASSIGN(more, csv.next());
    if (!more) return {};
    auto& jct_h = figures.jct_h.emplace_back();
    if (csv.text(status) == "finished") jct_h = csv.number(jct) / 3600;
    figures.job_users.emplace_back(csv.text(user));
    if (csv.bad()) return damaged();
  }
}

// Reads the column mix_speed of jobs.csv, which has a row for each job in the journal's order.
Result<IdVector<JobId, double>> read_mix_speeds(const std::filesystem::path& path) {
  const auto damaged = [&path] { return run_error("no speeds of jobs: {}", path.string()); };
  FL_TRY_ASSIGN(source, ByteSource::open(path.string()));
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  const CsvReader::Column column = csv.find("mix_speed");
  if (column == CsvReader::kMissing) return damaged();
  IdVector<JobId, double> speeds;
  for (;;) {
    FL_TRY_ASSIGN(more, csv.next());
    if (!more) return speeds;
    speeds.push_back(csv.number(column));
    if (csv.bad() || speeds[JobId(speeds.size() - 1)] <= 0) return damaged();
  }
}

// Reads the figures of summary.json that claims may name.
void read_summary_figures(const json& summary, RunFigures& figures) {
  for (const Figure& figure : run_figures()) {
    const auto value = figure_in(summary, figure);
    if (value) figures.summary.emplace(figure.key, *value);
  }
  for (const json& user : summary.value("users", json::array())) {
    figures.users.push_back({user.value("user", ""), user.value("work_gpu_hours", 0.0)});
  }
}

// Creates a meter for each requested kind of received GPU time.
Result<std::map<Received, WindowFairness>> window_meters(const std::filesystem::path& folder,
                                                         const RunQuestions& questions) {
  std::map<Received, WindowFairness> meters;
  for (const Received received : questions.received) {
    WindowFairnessOptions options{.windows = questions.windows,
                                  .quantum = questions.quantum,
                                  .received = received,
                                  .mix_speeds = {}};
    if (received == Received::kEffective) {
      FL_TRY_ASSIGN(speeds, read_mix_speeds(folder / "jobs.csv"));
      options.mix_speeds = std::move(speeds);
    }
    meters.try_emplace(received, std::move(options));
  }
  return meters;
}

// Reads the data that the questions need from the journal.
Status read_journal(const std::filesystem::path& folder, const json& summary,
                    const RunQuestions& questions, RunFigures& figures) {
  ScheduleMeter schedule(questions.quantum, questions.quanta);
  FL_TRY_ASSIGN(fairness, window_meters(folder, questions));
  std::vector<RecordSink*> sinks = {&schedule};
  for (auto& [received, meter] : fairness) sinks.push_back(&meter);
  Tee tee(sinks);
  const std::filesystem::path journal = folder / kJournalName;
  FL_TRY_ASSIGN(end, read_finished_journal(journal, tee));
  FL_TRY(check_journal_of(summary, journal, end));
  schedule.add_to(figures);
  for (const auto& [received, meter] : fairness) {
    figures.windows[received] = meter.windows();
    figures.idle_when_wanted = meter.idle_when_wanted();  // the same for each meter
    figures.migrations_per_hour = meter.migrations_per_hour();
  }
  return {};
}

}  // namespace

Result<RunFigures> read_run(const std::filesystem::path& folder, const RunQuestions& questions) {
  RunFigures figures;
  FL_TRY_ASSIGN(summary, read_summary(folder));
  read_summary_figures(summary, figures);
  if (questions.job_times) {
    FL_TRY(read_job_times(folder / "jobs.csv", figures));
  }
  if (questions.any_of_journal()) FL_TRY(read_journal(folder, summary, questions, figures));
  return figures;
}

}  // namespace fairlead
