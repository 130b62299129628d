#include "fairlead/experiment/figures.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/input/csv.h"
#include "fairlead/input/models_file.h"
#include "fairlead/journal/journal.h"
#include "fairlead/report/result_files.h"
#include "fairlead/run/settings.h"
#include "fairlead/solve/trading.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
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
    // What is decided at the beginning of a quantum belongs to it.
    while (sampled_ < quanta_ && record.t > Time{sampled_ * quantum_.ms}) sample();
    switch (record.kind) {
      case RecordKind::kArrived:
        names_[record.job] = record.name;
        break;
      case RecordKind::kPlace:
        running_.insert(record.job);
        break;
      case RecordKind::kStop:
      case RecordKind::kFinished:
      case RecordKind::kFailed:
      case RecordKind::kCancelled:
      case RecordKind::kEvicted:
        running_.erase(record.job);
        break;
      case RecordKind::kNote:
        if (record.note.kind == NoteKind::kPass) passes_[record.note.job] = record.note.value;
        break;
      default:
        break;
    }
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
    constexpr double kPassUnits = 1e6;  // notes are in millionths
    std::vector<std::string_view> names;
    for (const JobId job : running_) names.push_back(names_[job]);
    schedule_.push_back(names.empty() ? "-" : fmt::format("{}", fmt::join(names, "+")));
    for (const auto& [job, pass] : passes_) {
      samples_[job].resize(schedule_.size() - 1, "0");  // passes are noted when they change
      samples_[job].push_back(fmt::format("{}", static_cast<double>(pass) / kPassUnits));
    }
    ++sampled_;
  }

  Duration quantum_;
  std::int64_t quanta_;
  std::int64_t sampled_ = 0;
  std::map<JobId, std::string> names_;
  std::set<JobId> running_;
  std::map<JobId, std::int64_t> passes_;
  std::map<JobId, std::vector<std::string>> samples_;
  std::vector<std::string> schedule_;
};

// A number of summary.json at "fairness/jain".
Result<double> number_at(const RunFigures& run, const std::string& key) {
  const json value = run.summary.value(json::json_pointer("/" + key), json());
  if (value.is_number()) return value.get<double>();
  return run_error("summary.json has no such number: {}", key);
}

std::map<std::string, double> work_by_user(const RunFigures& run) {
  std::map<std::string, double> work;
  for (const json& user : run.summary.value("users", json::array())) {
    work[user.value("user", "")] = user.value("work_gpu_hours", 0.0);
  }
  return work;
}

Result<double> work_of(const RunFigures& run, const std::string& user) {
  const auto work = work_by_user(run);
  const auto found = work.find(user);
  if (found == work.end()) return run_error("the run has no such user: {}", user);
  return found->second;
}

Result<double> percent_more(double ours, double theirs) {
  if (theirs <= 0) return run_error("nothing was done without it, so no gain is defined");
  return 100 * (ours / theirs - 1);
}

Result<double> summary_figure(const PublishedClaim& claim, const RunFigures& run,
                              const RunFigures* against) {
  FL_TRY_ASSIGN(ours, number_at(run, claim.key));
  if (against == nullptr) return ours;
  FL_TRY_ASSIGN(theirs, number_at(*against, claim.key));
  if (theirs == 0) return run_error("a ratio to nothing: {}", claim.key);
  return ours / theirs;
}

// The column jct_s of jobs.csv, as hours.
Result<std::vector<std::optional<double>>> read_job_times(const std::filesystem::path& path) {
  const auto damaged = [&path] { return run_error("not a table of jobs: {}", path.string()); };
  FL_TRY_ASSIGN(source, ByteSource::open(path.string()));
  CsvReader csv(source);
  FL_TRY(csv.read_header());
  const CsvReader::Column jct = csv.find("jct_s");
  const CsvReader::Column status = csv.find("status");
  if (jct == CsvReader::kMissing || status == CsvReader::kMissing) return damaged();
  std::vector<std::optional<double>> times;
  for (;;) {
    FL_TRY_ASSIGN(more, csv.next());
    if (!more) return times;
    times.emplace_back();
    if (csv.text(status) == "finished") times.back() = csv.number(jct) / 3600;
    if (csv.bad()) return damaged();
  }
}

Result<double> window_jct(const PublishedClaim& claim, const RunFigures& run) {
  const auto jobs = static_cast<std::int64_t>(run.jct_h.size());
  if (claim.last_job > jobs) return run_error("the trace has fewer jobs: {}", jobs);
  double sum = 0;
  for (std::int64_t position = claim.first_job; position <= claim.last_job; ++position) {
    const auto& jct_h = run.jct_h[static_cast<std::size_t>(position - 1)];
    if (!jct_h) return run_error("did not finish: the job at position {}", position);
    sum += *jct_h;
  }
  return sum / static_cast<double>(claim.last_job - claim.first_job + 1);
}

Result<double> summary_hours(const PublishedClaim& claim, const RunFigures& run) {
  FL_TRY_ASSIGN(in_seconds, number_at(run, claim.key));
  return in_seconds / 3600;
}

Result<double> gain_of(const PublishedClaim& claim, const RunFigures& run,
                       const RunFigures& against) {
  FL_TRY_ASSIGN(ours, work_of(run, claim.user));
  FL_TRY_ASSIGN(theirs, work_of(against, claim.user));
  return percent_more(ours, theirs);
}

Result<double> total_gain(const RunFigures& run, const RunFigures& against) {
  double ours = 0;
  double theirs = 0;
  for (const auto& [user, work] : work_by_user(run)) ours += work;
  for (const auto& [user, work] : work_by_user(against)) theirs += work;
  return percent_more(ours, theirs);
}

// Of users that got anything done under the other policy.
Result<double> least_gain(const RunFigures& run, const RunFigures& against) {
  std::optional<double> least;
  const auto ours = work_by_user(run);
  for (const auto& [user, theirs] : work_by_user(against)) {
    const auto found = ours.find(user);
    if (theirs <= 0 || found == ours.end()) continue;
    const double gain = 100 * (found->second / theirs - 1);
    least = std::min(least.value_or(gain), gain);
  }
  if (!least) return run_error("no user got anything done");
  return *least;
}

Result<Value> text_of(const std::vector<std::string>& quanta, std::int64_t count) {
  const auto wanted = static_cast<std::size_t>(count);
  if (quanta.size() < wanted) return run_error("the run ended before quantum {}", quanta.size());
  return Value{.text = fmt::format("{}", fmt::join(quanta.begin(), quanta.begin() + count, " "))};
}

Result<Value> passes_of(const PublishedClaim& claim, const RunFigures& run) {
  const auto passes = run.passes.find(claim.job);
  if (passes == run.passes.end()) return run_error("no pass was noted of job {}", claim.job);
  return text_of(passes->second, claim.quanta);
}

// Windows are whole minutes, the step in which they are measured.
Duration window_of(const PublishedClaim& claim) {
  return seconds(60 * std::max<std::int64_t>(1, std::llround(claim.window_h * 60)));
}

const WindowErrors& errors_of(const PublishedClaim& claim, const RunFigures& run) {
  const auto window = std::ranges::find(run.windows, window_of(claim), &WindowFigures::window);
  FL_CHECK(window != run.windows.end(), "no window of {} h", claim.window_h);
  return window->steady;
}

Value largest_error(const PublishedClaim& claim, const RunFigures& run) {
  const WindowErrors& errors = errors_of(claim, run);
  Value value{.number = 100 * errors.largest};
  if (errors.user.is_none()) return value;
  const json& user = run.summary["users"][errors.user.row()]["user"];
  value.where = fmt::format("{}, the {} h up to {:.2f} h", user.get<std::string>(), claim.window_h,
                            to_seconds(errors.window_end) / 3600);
  return value;
}

// Per GPU and relative to nothing, as the table has it; 0 where the type is infeasible or unknown.
double speed_on(const ModelProfile& model, std::string_view gpu_type) {
  for (const TypeRates& rates : model.rates) {
    if (type_key(rates.gpu_type) == type_key(gpu_type)) return rates.rows.front().consolidated;
  }
  return 0;
}

double throughput(std::span<const double> speeds, std::span<const double> gpus) {
  return std::inner_product(speeds.begin(), speeds.end(), gpus.begin(), 0.0);
}

Result<SpeedTable> speed_table(const std::vector<std::string>& settings) {
  FL_TRY_ASSIGN(parsed, parse_settings(settings));
  return parsed.models.empty() ? builtin_models() : load_models(parsed.models);
}

}  // namespace

RunQuestions run_questions(const Experiment& experiment) {
  RunQuestions questions;
  questions.quantum = experiment.quantum;
  for (const PublishedClaim& claim : experiment.claims) {
    switch (claim.figure->kind) {
      case FigureKind::kWindowError:
      case FigureKind::kWindowErrorMean:
      case FigureKind::kIdleWhenWanted:
      case FigureKind::kMigrationsPerHour:
        questions.windows.push_back(window_of(claim));
        break;
      case FigureKind::kWindowJct:
        questions.job_times = true;
        break;
      default:
        questions.quanta = std::max(questions.quanta, claim.quanta);
        break;
    }
  }
  std::ranges::sort(questions.windows);
  const auto twice = std::unique(questions.windows.begin(), questions.windows.end());
  questions.windows.erase(twice, questions.windows.end());
  return questions;
}

Result<RunFigures> read_run(const std::filesystem::path& folder, const RunQuestions& questions) {
  RunFigures figures;
  FL_TRY_ASSIGN(summary, read_summary(folder));
  figures.summary = std::move(summary);
  if (questions.job_times) {
    FL_TRY_ASSIGN(times, read_job_times(folder / "jobs.csv"));
    figures.jct_h = std::move(times);
  }
  if (!questions.any_of_journal()) return figures;
  ScheduleMeter schedule(questions.quantum, questions.quanta);
  WindowFairness fairness({.windows = questions.windows, .quantum = questions.quantum});
  Tee tee({&schedule, &fairness});
  FL_TRY(read_journal(folder / "journal.flj", tee));
  schedule.add_to(figures);
  figures.windows = fairness.windows();
  figures.idle_when_wanted = fairness.idle_when_wanted();
  figures.migrations_per_hour = fairness.migrations_per_hour();
  return figures;
}

Result<Value> measure(const PublishedClaim& claim, const RunFigures& run,
                      const RunFigures* against) {
  const auto number = [](const Result<double>& figure) -> Result<Value> {
    if (!figure) return tl::unexpected(figure.error());
    return Value{.number = *figure};
  };
  switch (claim.figure->kind) {
    case FigureKind::kSummary:
      return number(summary_figure(claim, run, against));
    case FigureKind::kSummaryHours:
      return number(summary_hours(claim, run));
    case FigureKind::kWindowJct:
      return number(window_jct(claim, run));
    case FigureKind::kWork:
      return number(work_of(run, claim.user));
    case FigureKind::kGain:
      return number(gain_of(claim, run, *against));
    case FigureKind::kGainTotal:
      return number(total_gain(run, *against));
    case FigureKind::kGainLeast:
      return number(least_gain(run, *against));
    case FigureKind::kWindowError:
      return largest_error(claim, run);
    case FigureKind::kWindowErrorMean:
      return Value{.number = 100 * errors_of(claim, run).mean};
    case FigureKind::kIdleWhenWanted:
      return Value{.number = 100 * run.idle_when_wanted};
    case FigureKind::kMigrationsPerHour:
      return Value{.number = run.migrations_per_hour};
    case FigureKind::kSchedule:
      return text_of(run.schedule, claim.quanta);
    case FigureKind::kPasses:
      return passes_of(claim, run);
    case FigureKind::kFluidGain:
      break;
  }
  FL_CHECK(false, "{} is no figure of a run", claim.figure->name);
  return Value{};
}

Result<double> fluid_gain(const Case& one, const std::vector<std::string>& settings,
                          const PublishedClaim& claim) {
  FL_TRY_ASSIGN(cluster, load_cluster(one.cluster));
  FL_TRY_ASSIGN(table, speed_table(settings));
  const auto& users = std::get<std::vector<UserSpec>>(one.workload);
  double tickets = 0;
  for (const UserSpec& user : users) tickets += static_cast<double>(user.tickets);
  std::vector<double> speeds;
  std::vector<double> entitled;
  for (const UserSpec& user : users) {
    const ModelProfile* model = table.find(user.model);
    if (model == nullptr) return input_error("no speeds are known of model {}", user.model);
    for (const GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
      speeds.push_back(speed_on(*model, cluster.type_names[type]));
      entitled.push_back(cluster.type_gpus[type] * static_cast<double>(user.tickets) / tickets);
    }
  }
  const std::vector<double> before = entitled;
  std::vector<Trade> trades;
  Trading().trade(cluster.type_names.size(), speeds, entitled,
                  claim.price == "slides" ? TradePrice::kSlides : TradePrice::kExternal, trades);

  const auto row = static_cast<std::size_t>(std::ranges::find(users, claim.user, &UserSpec::name) -
                                            users.begin());
  FL_CHECK(row < users.size(), "no user {}", claim.user);
  const std::size_t types = cluster.type_names.size();
  const auto of_user = [&](const std::vector<double>& matrix) {
    return std::span(matrix).subspan(row * types, types);
  };
  return percent_more(throughput(of_user(speeds), of_user(entitled)),
                      throughput(of_user(speeds), of_user(before)));
}

}  // namespace fairlead
