#include "fairlead/experiment/figures.h"

#include "fairlead/input/cluster_file.h"
#include "fairlead/input/models_file.h"
#include "fairlead/run/settings.h"
#include "fairlead/solve/trading.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace fairlead {
namespace {

Result<double> number_at(const RunFigures& run, const std::string& key) {
  const auto found = run.summary.find(key);
  if (found != run.summary.end()) return found->second;
  return run_error("summary.json has no such number: {}", key);
}

std::map<std::string, double> work_by_user(const RunFigures& run) {
  std::map<std::string, double> work;
  for (const UserWork& user : run.users) work[user.user] = user.gpu_hours;
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

// Returns the least value that any policy could reach with the jobs of the run, or the greatest value if more is
// better; none if no bound is known.
std::optional<double> best_of(std::string_view key, const RunFigures& run) {
  if (key == "gpu_utilization") return 1;
  const std::string_view bound = key == "makespan_s"        ? "bounds/makespan_lower_s"
                                 : key == "jct_avg_s"       ? "bounds/jct_avg_lower_s"
                                 : key == "comm_time_share" ? "bounds/comm_time_share_lower"
                                                            : "";
  const auto found = run.summary.find(bound);
  if (found == run.summary.end() || found->second <= 0) return std::nullopt;
  return found->second;
}

// Returns the claim's value under the best policy. In a ratio, the bound replaces the side that should be better, and
// the other side stays as it was run. Without `against`, `theirs` is 1.
std::optional<double> possible(const PublishedClaim& claim, const RunFigures& run, double ours,
                               const RunFigures* against, double theirs) {
  const bool is_least = claim.bound == Bound::kAtLeast;
  if (!is_least && claim.bound != Bound::kAtMost) return std::nullopt;
  const bool more_is_better = claim.key == "gpu_utilization";
  if (is_least == more_is_better) {
    const auto best = best_of(claim.key, run);
    return best ? std::optional(*best / theirs) : std::nullopt;
  }
  const auto best = against == nullptr ? std::nullopt : best_of(claim.key, *against);
  return best ? std::optional(ours / *best) : std::nullopt;
}

Result<Value> summary_figure(const PublishedClaim& claim, const RunFigures& run,
                             const RunFigures* against) {
  FL_TRY_ASSIGN(ours, number_at(run, claim.key));
  FL_TRY_ASSIGN(theirs, against == nullptr ? Result<double>(1) : number_at(*against, claim.key));
  if (theirs == 0) return run_error("a ratio to nothing: {}", claim.key);
  return Value{.number = ours / theirs, .possible = possible(claim, run, ours, against, theirs)};
}

Result<double> over_bound(const PublishedClaim& claim, const RunFigures& run,
                          const RunFigures* /*against*/) {
  FL_TRY_ASSIGN(ours, number_at(run, claim.key));
  const auto best = best_of(claim.key, run);
  if (!best) return run_error("no bound is known of {}", claim.key);
  return ours / *best;
}

// The share of the running time is not proportional to the lost time: 9 hours lost to 1 of computing are a share of 0.9,
// and 1 hour lost is one of 0.5.
Result<Value> communication_overhead(const PublishedClaim& claim, const RunFigures& run,
                                     const RunFigures* against) {
  constexpr std::string_view kShare = "comm_time_share";
  const auto overhead_of = [](double share) { return share / (1 - share); };
  FL_TRY_ASSIGN(ours, number_at(run, std::string(kShare)));
  FL_TRY_ASSIGN(theirs, against == nullptr ? Result<double>(0.5)  // an overhead of 1
                                           : number_at(*against, std::string(kShare)));
  if (theirs == 0) return run_error("a ratio to nothing: {}", kShare);
  Value value{.number = overhead_of(ours) / overhead_of(theirs)};
  const auto best = best_of(kShare, run);
  if (best && claim.bound == Bound::kAtMost)
    value.possible = overhead_of(*best) / overhead_of(theirs);
  return value;
}

Result<double> window_jct(const PublishedClaim& claim, const RunFigures& run,
                          const RunFigures* /*against*/) {
  const auto jobs = static_cast<std::int64_t>(run.jct_h.size());
  if (claim.last_job > jobs) return run_error("the trace has fewer jobs: {}", jobs);
  double sum = 0;
  int counted = 0;
  for (std::int64_t position = claim.first_job; position <= claim.last_job; ++position) {
    const auto row = static_cast<std::size_t>(position - 1);
    if (!claim.user.empty() && run.job_users[row] != claim.user) continue;
    const auto& jct_h = run.jct_h[row];
    if (!jct_h) return run_error("did not finish: the job at position {}", position);
    sum += *jct_h;
    ++counted;
  }
  if (counted == 0) return run_error("none of the jobs at these positions is of {}", claim.user);
  return sum / counted;
}

// Returns the value of the user whose ratio is largest. Only jobs that finished under both policies count.
Result<Value> largest_user_jct(const PublishedClaim& /*claim*/, const RunFigures& run,
                               const RunFigures* against) {
  if (run.jct_h.size() != against->jct_h.size()) return run_error("the runs have other jobs");
  std::map<std::string, std::pair<double, double>> sums;  // ours and theirs, by user
  for (std::size_t row = 0; row < run.jct_h.size(); ++row) {
    if (!run.jct_h[row] || !against->jct_h[row]) continue;
    auto& [ours, theirs] = sums[run.job_users[row]];
    ours += *run.jct_h[row];
    theirs += *against->jct_h[row];
  }
  Value worst;
  for (const auto& [user, sum] : sums) {
    const double ratio = sum.first / sum.second;
    if (sum.second > 0 && ratio > worst.number) worst = {.number = ratio, .where = user};
  }
  if (worst.where.empty()) return run_error("no job finished under both policies");
  return worst;
}

// Returns the percentage of late jobs among the jobs that finished under both policies: late jobs take more than a
// twentieth longer.
Result<double> late_jobs(const PublishedClaim& /*claim*/, const RunFigures& run,
                         const RunFigures* against) {
  constexpr double kLate = 1.05;
  if (run.jct_h.size() != against->jct_h.size()) return run_error("the runs have other jobs");
  std::size_t late = 0;
  std::size_t counted = 0;
  for (std::size_t row = 0; row < run.jct_h.size(); ++row) {
    if (!run.jct_h[row] || !against->jct_h[row]) continue;
    if (*run.jct_h[row] > kLate * *against->jct_h[row]) ++late;
    ++counted;
  }
  if (counted == 0) return run_error("no job finished under both policies");
  return 100 * static_cast<double>(late) / static_cast<double>(counted);
}

Result<double> summary_hours(const PublishedClaim& claim, const RunFigures& run,
                             const RunFigures* /*against*/) {
  FL_TRY_ASSIGN(in_seconds, number_at(run, claim.key));
  return in_seconds / 3600;
}

Result<double> user_work(const PublishedClaim& claim, const RunFigures& run,
                         const RunFigures* /*against*/) {
  return work_of(run, claim.user);
}

Result<double> gain_of(const PublishedClaim& claim, const RunFigures& run,
                       const RunFigures* against) {
  FL_TRY_ASSIGN(ours, work_of(run, claim.user));
  FL_TRY_ASSIGN(theirs, work_of(*against, claim.user));
  return percent_more(ours, theirs);
}

Result<double> total_gain(const PublishedClaim& /*claim*/, const RunFigures& run,
                          const RunFigures* against) {
  double ours = 0;
  double theirs = 0;
  for (const auto& [user, work] : work_by_user(run)) ours += work;
  for (const auto& [user, work] : work_by_user(*against)) theirs += work;
  return percent_more(ours, theirs);
}

// Only users with work done under the other policy count.
Result<double> least_gain(const PublishedClaim& /*claim*/, const RunFigures& run,
                          const RunFigures* against) {
  std::optional<double> least;
  const auto ours = work_by_user(run);
  for (const auto& [user, theirs] : work_by_user(*against)) {
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

Result<Value> schedule_of(const PublishedClaim& claim, const RunFigures& run,
                          const RunFigures* /*against*/) {
  return text_of(run.schedule, claim.quanta);
}

Result<Value> passes_of(const PublishedClaim& claim, const RunFigures& run,
                        const RunFigures* /*against*/) {
  const auto passes = run.passes.find(claim.job);
  if (passes == run.passes.end()) return run_error("no pass was noted of job {}", claim.job);
  return text_of(passes->second, claim.quanta);
}

// Windows are whole minutes, the step in which they are measured.
Duration window_of(const PublishedClaim& claim) {
  return seconds(60 * std::max<std::int64_t>(1, std::llround(claim.window_h * 60)));
}

template <auto Errors>
const WindowErrors& errors_of(const PublishedClaim& claim, const RunFigures& run) {
  const auto found = run.windows.find(*received_named(claim.received));
  FL_CHECK(found != run.windows.end(), "no windows of {} GPU time", claim.received);
  const auto& windows = found->second;
  const auto window = std::ranges::find(windows, window_of(claim), &WindowFigures::window);
  FL_CHECK(window != windows.end(), "no window of {} h", claim.window_h);
  return (*window).*Errors;
}
constexpr auto kErrors = &WindowFigures::steady;
constexpr auto kShortfalls = &WindowFigures::shortfalls;

template <auto Errors>
Result<Value> largest(const PublishedClaim& claim, const RunFigures& run,
                      const RunFigures* /*against*/) {
  const WindowErrors& errors = errors_of<Errors>(claim, run);
  Value value{.number = 100 * errors.largest};
  if (errors.user.is_none()) return value;
  FL_CHECK(errors.user.row() < run.users.size(), "no user {}", errors.user.row());
  value.where = fmt::format("{}, the {} h up to {:.2f} h", run.users[errors.user.row()].user,
                            claim.window_h, to_seconds(errors.window_end) / 3600);
  return value;
}

template <auto Errors>
Result<double> mean(const PublishedClaim& claim, const RunFigures& run,
                    const RunFigures* /*against*/) {
  return 100 * errors_of<Errors>(claim, run).mean;
}

template <auto Errors, int kThousandths>
Result<double> quantile(const PublishedClaim& claim, const RunFigures& run,
                        const RunFigures* /*against*/) {
  return 100 * errors_of<Errors>(claim, run).quantiles.at(kThousandths / 1000.0);
}

Result<double> idle_when_wanted(const PublishedClaim& /*claim*/, const RunFigures& run,
                                const RunFigures* /*against*/) {
  return 100 * run.idle_when_wanted;
}

Result<double> migrations_per_hour(const PublishedClaim& /*claim*/, const RunFigures& run,
                                   const RunFigures* /*against*/) {
  return run.migrations_per_hour;
}

// A figure that is a number.
template <auto Measure>
Result<Value> number(const PublishedClaim& claim, const RunFigures& run,
                     const RunFigures* against) {
  FL_TRY_ASSIGN(figure, Measure(claim, run, against));
  return Value{.number = figure};
}

using enum ClaimFigure::Source;

constexpr ClaimFigure kFigures[] = {
    {"summary", "", 3, kSummary, "key", "against",
     "a figure of summary.json, as `fairness/jain`; with `against`, its ratio to the other "
     "policy's",
     &summary_figure},
    {"summary_h", "h", 2, kSummary, "key", "", "a figure of summary.json in seconds, as hours",
     &number<&summary_hours>},
    {"over_bound", "", 3, kSummary, "key", "",
     "`jct_avg_s`, `makespan_s` or `gpu_utilization` of summary.json / the bound for any policy",
     &number<&over_bound>},
    {"communication_overhead", "", 3, kSummary, "", "against",
     "GPU time lost to communication / GPU time of computing; with `against`, its ratio to the "
     "other policy's",
     &communication_overhead},
    {"window_jct", "h", 2, kJobTimes, "first_job last_job", "user",
     "mean JCT of the jobs, with `user` of that user's jobs, at these positions in the trace, "
     "counted from 1, both included; the claim is skipped if one of them did not finish",
     &number<&window_jct>},
    {"user_jct", "", 3, kJobTimes, "against", "",
     "mean JCT of a user's jobs / that under the policy `against`, of jobs that finished under "
     "both: of the user with the largest ratio",
     &largest_user_jct},
    {"late_jobs", "%", 1, kJobTimes, "against", "",
     "percentage of late jobs among the jobs that finished under both policies: the JCT is more "
     "than 5 % above the one "
     "under `against`",
     &number<&late_jobs>},
    {"work", "GPU-h", 1, kSummary, "user", "", "the user's `work_gpu_hours`", &number<&user_work>},
    {"gain", "%", 1, kSummary, "user against", "price",
     "the user's `work_gpu_hours` / that under the policy `against`, - 1; `price` as in `expect: "
     "fluid`",
     &number<&gain_of>},
    {"gain_total", "%", 1, kSummary, "against", "", "the same of all users together",
     &number<&total_gain>},
    {"gain_least", "%", 1, kSummary, "against", "",
     "the same of the user that gains least, among users with work done under `against`",
     &number<&least_gain>},
    {"fluid_gain", "%", 2, kWorkload, "user", "price",
     "the user's calculated gain from trading: entitlements are each type's GPUs by tickets, "
     "speeds are for one GPU in the table of models, and all users want more than they have. "
     "`price`: `slides` (default) or `external`. Takes no `policy`, needs no run",
     nullptr},
    {"window_error", "%", 1, kWindows, "window_h", "of",
     "the largest difference between GPU time received and entitled in any window of whole "
     "minutes, beyond one quantum of the user's largest gang, in relation to the entitled; only "
     "windows in which the user was entitled to something all the time. `of` selects the time that "
     "counts as received: `held` (default), `useful` or `effective` GPU time",
     &largest<kErrors>},
    {"window_error_mean", "%", 1, kWindows, "window_h", "of",
     "the mean of the same over users and windows", &number<&mean<kErrors>>},
    {"window_error_p50", "%", 2, kWindows, "window_h", "of",
     "the value that it does not exceed in 50 % of all windows of users",
     &number<&quantile<kErrors, 500>>},
    {"window_error_p99", "%", 2, kWindows, "window_h", "of", "the same of 99 %",
     &number<&quantile<kErrors, 990>>},
    {"window_error_p999", "%", 2, kWindows, "window_h", "of", "the same of 99.9 %",
     &number<&quantile<kErrors, 999>>},
    {"window_shortfall", "%", 1, kWindows, "window_h", "of",
     "largest shortfall of a user from the entitled in a window, beyond one quantum of its largest "
     "gang, in relation to the entitled; only windows in which the user's demand exceeded its "
     "share all the time",
     &largest<kShortfalls>},
    {"window_shortfall_mean", "%", 1, kWindows, "window_h", "of",
     "the mean of the same over users and windows", &number<&mean<kShortfalls>>},
    {"window_shortfall_p99", "%", 2, kWindows, "window_h", "of",
     "the value that it does not exceed in 99 % of all windows of users",
     &number<&quantile<kShortfalls, 990>>},
    {"idle_when_wanted", "%", 1, kWindows, "", "",
     "GPU time idle while jobs want at least the whole capacity, in relation to the capacity then",
     &number<&idle_when_wanted>},
    {"migrations_per_hour", "/h", 1, kWindows, "", "", "migrations", &number<&migrations_per_hour>},
    {"schedule", "", 0, kQuanta, "quanta", "",
     "the jobs that run in each of the first quanta, joined by `+`, `-` for none", &schedule_of},
    {"passes", "", 0, kQuanta, "job quanta", "",
     "the job's noted stride pass at the beginning of each of the first quanta", &passes_of},
};

bool has_word(std::string_view words, std::string_view word) {
  return fmt::format(" {} ", words).find(fmt::format(" {} ", word)) != std::string::npos;
}

// Returns the absolute speed per GPU in the table; 0 if the type is infeasible or unknown.
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
    const ClaimFigure& figure = *claim.figure;
    if (figure.source == kWindows) {
      questions.windows.push_back(window_of(claim));
      questions.received.insert(*received_named(claim.received));
    }
    questions.job_times = questions.job_times || figure.source == kJobTimes;
    questions.quanta = std::max(questions.quanta, claim.quanta);
  }
  std::ranges::sort(questions.windows);
  const auto twice = std::unique(questions.windows.begin(), questions.windows.end());
  questions.windows.erase(twice, questions.windows.end());
  return questions;
}

std::optional<Received> received_named(std::string_view name) {
  if (name == "held") return Received::kAllocated;
  if (name == "useful") return Received::kUseful;
  if (name == "effective") return Received::kEffective;
  return std::nullopt;
}

bool ClaimFigure::requires_key(std::string_view key) const { return has_word(required, key); }

bool ClaimFigure::takes_key(std::string_view key) const {
  return has_word(required, key) || has_word(optional, key);
}

std::span<const ClaimFigure> claim_figures() { return kFigures; }

const ClaimFigure* find_claim_figure(std::string_view name) {
  const auto* const found = std::ranges::find(kFigures, name, &ClaimFigure::name);
  return found == std::end(kFigures) ? nullptr : found;
}

Result<double> fluid_gain(const Case& one, const std::vector<std::string>& settings,
                          const PublishedClaim& claim) {
  FL_TRY_ASSIGN(cluster, load_cluster(one.cluster));
  FL_TRY_ASSIGN(table, speed_table(settings));
  const auto& users = std::get<std::vector<DrawnUser>>(one.workload);
  double tickets = 0;
  for (const DrawnUser& user : users) tickets += static_cast<double>(user.tickets);
  std::vector<double> speeds;
  std::vector<double> entitled;
  for (const DrawnUser& user : users) {
    const ModelProfile* model = table.find(user.model);
    if (model == nullptr) return input_error("no speeds are known of model {}", user.model);
    for (const GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
      speeds.push_back(speed_on(*model, cluster.type_names[type]));
      entitled.push_back(cluster.type_gpus[type] * static_cast<double>(user.tickets) / tickets);
    }
  }
  const std::vector<double> before = entitled;
  std::vector<Trade> trades;
  Trading().trade(cluster.type_names.size(), speeds, entitled, {},
                  claim.price == "slides" ? TradePrice::kSlides : TradePrice::kExternal, trades);

  const auto row = static_cast<std::size_t>(std::ranges::find(users, claim.user, &DrawnUser::name) -
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
