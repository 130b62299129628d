#include "fairlead/policy/tiresias/tiresias.h"

#include "fairlead/base/indexed_heap.h"
#include "fairlead/model/known_speed.h"
#include "fairlead/policy/kit/job_lists.h"
#include "fairlead/policy/kit/preemption.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace fairlead {
namespace {

class Tiresias : public Policy {
 public:
  explicit Tiresias(TiresiasOptions options)
      : options_(std::move(options)),
        queues_(static_cast<std::uint32_t>(options_.limits_s.size()) + 1),
        running_(queues_),
        queue_gpus_(queues_) {}

  std::string_view name() const override { return kTiresias.name; }
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override;

 private:
  struct State {
    GpuTime forgotten;   // service before the last promotion, which no longer counts
    Duration waited;     // since that promotion and after its first service, up to waiting_since
    Time waiting_since;  // only while it waits
    std::uint32_t queue = 0;
    void fields(Archive& archive) { archive(forgotten, waited, waiting_since, queue); }
  };

  GpuTime served(const View& view, JobId job) const {
    return view.jobs.attained(job, view.now) - states_[job].forgotten;
  }
  Duration ran(const View& view, JobId job) const {
    return {saturated_gpu_ms(served(view, job)) / view.jobs.gpus[job]};
  }
  // A queue has two levels of waiting jobs. Jobs that insist on consolidation may find no room and
  // must not block the others.
  std::uint32_t level_of(const View& view, JobId job) const;
  static std::uint32_t queue_of(std::uint32_t level) { return level / 2; }
  Placement placement_of(std::uint32_t level) const {
    return level % 2 == 0 ? options_.placement : Placement::kConsolidate;
  }
  bool is_last(std::uint32_t queue) const { return queue + 1 == queues_; }
  GpuTime limit(const View& view, JobId job) const;
  OrderKey order(const View& view, JobId job, std::int64_t label) const;

  // The life of a job.
  void reserve(std::size_t jobs);
  void apply_news(const View& view, Plan& plan);
  void enqueue(const View& view, JobId job, std::int64_t label);
  void start(const View& view, JobId job);
  void join_running(const View& view, JobId job);
  void leave_running(const View& view, JobId job);

  // Moves between queues.
  void collect_due(IndexedHeap<Time, JobId>& heap, const View& view);
  void demote_due(const View& view, Plan& plan);
  bool reached_limit(const View& view, JobId job) const;
  void demote(const View& view, JobId job, Plan& plan);
  void promote_due(const View& view, Plan& plan);
  void note_queue(JobId job, Plan& plan) const;
  void watch_limit(const View& view, JobId job);
  void watch_wait(const View& view, JobId job);

  // The choice of running jobs.
  void choose(const View& view, const Plan& plan);
  void choose_running(const View& view, std::uint32_t queue);
  void choose_by_index(const View& view, std::uint32_t queue);
  ClassQueue::Class* first_open(std::uint32_t queue);
  void carry_out(const View& view, Plan& plan);
  void file_victims(const View& view, const Plan& plan);
  void ask_to_be_woken(const View& view, Plan& plan);
  Time late_jump(const View& view) const;

  const TiresiasOptions options_;
  const std::uint32_t queues_;

  IdVector<JobId, State> states_;
  JobLists running_;                      // by queue
  std::vector<std::int64_t> queue_gpus_;  // GPUs of the jobs in each of those lists
  ClassQueue waiting_;                    // its levels: level_of()
  std::int64_t head_label_ = 0;           // label of the last job put ahead of all waiting ones
  std::int64_t tail_label_ = 0;           // label of the last job put behind them
  IndexedHeap<Time, JobId> limits_;       // when running jobs reach the limit of their queue
  IndexedHeap<Time, JobId> waits_;  // when waiting jobs have waited long enough to be promoted
  Time wake_ = {-1};                // the last wake-up asked for

  // State of the present decision.
  std::vector<JobId> due_;
  std::vector<JobId> demoted_;      // they run, but are in no list until the running jobs are
                                    // chosen
  std::vector<OrderKey> by_index_;  // keys of one queue
  std::vector<JobId> walked_;       // with the Gittins index: candidates, in order
  Preemption preemption_;
};

void Tiresias::decide(const View& view, Plan& plan) {
  const auto woke = [](const Event& event) { return event.kind == EventKind::kWoke; };
  const bool only_woke = std::ranges::all_of(view.news, woke) && !plan.continues();
  if (options_.late_demotion && view.now != wake_ && only_woke) {
    return;  // The simulator would have replaced this wake-up by a later one.
  }
  reserve(view.jobs.size());
  apply_news(view, plan);
  demote_due(view, plan);
  promote_due(view, plan);
  if (waiting_.empty() && !options_.gittins) {
    for (JobId job : demoted_) join_running(view, job);
  } else {
    choose(view, plan);
    carry_out(view, plan);
  }
  ask_to_be_woken(view, plan);
}

void Tiresias::reserve(std::size_t jobs) {
  if (states_.size() < jobs) states_.resize(jobs);
  running_.reserve(jobs);
  waiting_.reserve(jobs);
  limits_.reserve(jobs);
  waits_.reserve(jobs);
}

GpuTime Tiresias::limit(const View& view, JobId job) const {
  const std::int64_t gpus = options_.unit == ServiceUnit::kGpuTime ? 1 : view.jobs.gpus[job];
  return occupancy(seconds(options_.limits_s[states_[job].queue]), gpus);
}

// Gu et al. section 3.3: one large tensor makes the exchange between nodes uneven. A job of unknown
// skew has none.
std::uint32_t Tiresias::level_of(const View& view, JobId job) const {
  const bool is_skewed = options_.consolidate_above.has_value() &&
                         view.speed.skew(job).value_or(0) > *options_.consolidate_above;
  return states_[job].queue * 2 + (is_skewed ? 1 : 0);
}

OrderKey Tiresias::order(const View& view, JobId job, std::int64_t label) const {
  const std::int64_t queue = states_[job].queue;
  if (!options_.gittins) return {.major = queue, .label = label, .job = job};
  static_assert(GittinsIndex::kMax < std::int64_t{1} << 40);
  const std::int64_t index = options_.gittins->of(served(view, job));
  return {.major = (queue << 40) + GittinsIndex::kMax - index,
          .minor = view.jobs.arrival[job].ms,
          .label = label,
          .job = job};
}

void Tiresias::apply_news(const View& view, Plan& plan) {
  // Backwards, because each goes ahead of the ones put there before.
  for (auto event = view.news.rbegin(); event != view.news.rend(); ++event) {
    if (!loses_gang(event->kind)) continue;
    leave_running(view, event->job);
    const bool is_due = reached_limit(view, event->job);
    if (is_due) demote(view, event->job, plan);
    enqueue(view, event->job, is_due ? ++tail_label_ : --head_label_);
  }
  for (const Event& event : view.news) {
    if (event.kind == EventKind::kArrived) enqueue(view, event.job, ++tail_label_);
    if (!ends_job(event.kind)) continue;
    if (running_.contains(event.job)) leave_running(view, event.job);
    waiting_.erase(event.job);
    waits_.erase(event.job);
    states_[event.job] = {};
  }
}

void Tiresias::enqueue(const View& view, JobId job, std::int64_t label) {
  states_[job].waiting_since = view.now;
  waiting_.add(level_of(view, job), gang_asked(view.jobs, job), view.jobs.types[job],
               order(view, job, label));
  watch_wait(view, job);
}

void Tiresias::start(const View& view, JobId job) {
  State& state = states_[job];
  if (served(view, job).gpu_ms > 0) state.waited += view.now - state.waiting_since;
  waits_.erase(job);
  join_running(view, job);
}

void Tiresias::join_running(const View& view, JobId job) {
  running_.push_back(states_[job].queue, job);
  queue_gpus_[states_[job].queue] += view.jobs.gpus[job];
  watch_limit(view, job);
}

void Tiresias::leave_running(const View& view, JobId job) {
  running_.erase(states_[job].queue, job);
  queue_gpus_[states_[job].queue] -= view.jobs.gpus[job];
  limits_.erase(job);
}

void Tiresias::watch_limit(const View& view, JobId job) {
  if (is_last(states_[job].queue)) return;
  const std::int64_t left = saturated_gpu_ms(limit(view, job) - served(view, job));
  const std::int64_t gpus = view.jobs.gpus[job];
  limits_.set(job, view.now + Duration{std::max(left + gpus - 1, std::int64_t{0}) / gpus});
}

void Tiresias::watch_wait(const View& view, JobId job) {
  const State& state = states_[job];
  if (options_.promote_thousandths == 0 || state.queue == 0 || served(view, job).gpu_ms == 0)
    return;
  Duration patience = {ran(view, job).ms * options_.promote_thousandths / 1000};
  if (options_.late_demotion) patience = seconds(patience.ms / 1000);  // it counts whole seconds
  waits_.set(job, state.waiting_since + (patience - state.waited));
}

// Takes the due jobs out of the heap, in order of arrival.
void Tiresias::collect_due(IndexedHeap<Time, JobId>& heap, const View& view) {
  due_.clear();
  while (!heap.empty() && heap.top().key <= view.now) due_.push_back(heap.pop().id);
  std::ranges::sort(due_, {}, [&](JobId job) { return std::pair(view.jobs.arrival[job], job); });
}

void Tiresias::demote_due(const View& view, Plan& plan) {
  demoted_.clear();
  collect_due(limits_, view);
  for (JobId job : due_) {
    leave_running(view, job);
    demote(view, job, plan);
    demoted_.push_back(job);
  }
}

bool Tiresias::reached_limit(const View& view, JobId job) const {
  return !is_last(states_[job].queue) && served(view, job) >= limit(view, job);
}

void Tiresias::demote(const View& view, JobId job, Plan& plan) {
  do {
    ++states_[job].queue;
  } while (!options_.late_demotion && reached_limit(view, job));
  note_queue(job, plan);
}

void Tiresias::promote_due(const View& view, Plan& plan) {
  collect_due(waits_, view);
  for (JobId job : due_) {
    waiting_.erase(job);
    states_[job] = State();
    states_[job].forgotten = view.jobs.attained(job, view.now);
    enqueue(view, job, ++tail_label_);
    note_queue(job, plan);
  }
}

void Tiresias::note_queue(JobId job, Plan& plan) const {
  plan.note(note::Queue{job, states_[job].queue});
}

// Walks the queues: in each the running jobs, then the waiting ones, then the ones just demoted
// into it.
void Tiresias::choose(const View& view, const Plan& plan) {
  preemption_.begin(view, plan, options_.placement.mixes);
  waiting_.unblock();
  walked_.clear();
  for (std::uint32_t queue = 0; queue < queues_; ++queue) {
    if (options_.gittins) {
      choose_by_index(view, queue);
      continue;
    }
    choose_running(view, queue);
    while (ClassQueue::Class* const next = first_open(queue)) preemption_.admit(waiting_, *next);
    for (JobId job : demoted_) {
      if (states_[job].queue == queue) preemption_.keep(view, job);
    }
  }
}

ClassQueue::Class* Tiresias::first_open(std::uint32_t queue) {
  ClassQueue::Class* const next = waiting_.first_open();
  return next != nullptr && queue_of(next->level()) == queue ? next : nullptr;
}

void Tiresias::choose_running(const View& view, std::uint32_t queue) {
  JobId job = running_.first(queue);
  if (view.cluster.type_names.size() == 1) {
    // All of them usually fit. Otherwise those at the tail are looked at one by one, from the first
    // that does not fit behind all the others.
    std::int64_t ahead = queue_gpus_[queue];
    for (job = JobId::none(); ahead > preemption_.left(); ahead -= view.jobs.gpus[job]) {
      job = job.is_none() ? running_.last(queue) : running_.before(job);
    }
    preemption_.keep_all(static_cast<std::uint32_t>(ahead));
  }
  for (; !job.is_none(); job = running_.after(job)) preemption_.keep(view, job);
}

// The artefact sorts each queue by index, largest first, then by arrival; the sort is stable.
void Tiresias::choose_by_index(const View& view, std::uint32_t queue) {
  by_index_.clear();
  std::int64_t label = std::numeric_limits<std::int64_t>::min();
  for (JobId job = running_.first(queue); !job.is_none(); job = running_.after(job)) {
    by_index_.push_back(order(view, job, label++));
  }
  for (JobId job : demoted_) {
    if (states_[job].queue == queue) by_index_.push_back(order(view, job, ++tail_label_));
  }
  std::ranges::sort(by_index_);
  auto running = by_index_.begin();
  for (;;) {
    ClassQueue::Class* const next = first_open(queue);
    for (; running != by_index_.end() && (next == nullptr || *running < next->head()); ++running) {
      preemption_.keep(view, running->job);
      walked_.push_back(running->job);
    }
    if (next == nullptr) return;
    walked_.push_back(next->head().job);
    preemption_.admit(waiting_, *next);
  }
}

void Tiresias::carry_out(const View& view, Plan& plan) {
  const auto placement = [this](std::uint32_t level) { return placement_of(level); };
  preemption_.carry_out(placement, view, plan);
  for (const Preemption::Chosen& chosen : preemption_.chosen()) {
    if (plan.has_gang(chosen.key.job)) {
      start(view, chosen.key.job);
    } else {
      waiting_.add(chosen.level, gang_asked(view.jobs, chosen.key.job), chosen.types, chosen.key);
    }
  }
  file_victims(view, plan);
  for (JobId job : demoted_) {
    if (plan.has_gang(job)) join_running(view, job);
  }
  if (options_.gittins) {
    running_.clear();
    for (JobId job : walked_) {
      if (plan.has_gang(job)) running_.push_back(states_[job].queue, job);
    }
  }
  waiting_.unblock();
  start_fitting(waiting_, placement, view, plan,
                [&](const OrderKey& key, std::uint32_t) { start(view, key.job); });
}

// Puts jobs that ran in their queue ahead of its waiting jobs, and jobs that just entered it behind
// them.
void Tiresias::file_victims(const View& view, const Plan& plan) {
  const std::span<const JobId> victims = preemption_.victims();
  for (auto job = victims.rbegin(); job != victims.rend(); ++job) {
    if (plan.has_gang(*job) || !running_.contains(*job)) continue;
    leave_running(view, *job);
    enqueue(view, *job, --head_label_);
  }
  for (JobId job : demoted_) {
    if (!plan.has_gang(job)) enqueue(view, job, ++tail_label_);
  }
}

void Tiresias::ask_to_be_woken(const View& view, Plan& plan) {
  if (options_.late_demotion) {
    wake_ = late_jump(view);
    if (wake_ != Time::never()) plan.wake_at(wake_);
    return;
  }
  Time next = Time::never();
  if (!limits_.empty()) next = std::min(next, limits_.top().key);
  if (!waits_.empty()) next = std::min(next, waits_.top().key);
  if (next == Time::never() || (wake_ > view.now && wake_ <= next)) return;
  wake_ = std::max(next, view.now + milliseconds(1));
  plan.wake_at(wake_);
}

// The artefact's next queue jump: it divides the missing service in seconds, not GPU-seconds, by
// the GPUs.
Time Tiresias::late_jump(const View& view) const {
  Time jump = Time::never();
  const auto consider = [&](Time t) {
    if (t > view.now) jump = std::min(jump, t);
  };
  for (std::uint32_t queue = 0; !is_last(queue); ++queue) {
    for (JobId job = running_.first(queue); !job.is_none(); job = running_.after(job)) {
      const std::int64_t gpus = options_.unit == ServiceUnit::kGpuTime ? view.jobs.gpus[job] : 1;
      const std::int64_t missing_s = options_.limits_s[queue] - ran(view, job).ms / 1000;
      consider(view.now + seconds(missing_s / gpus));
    }
  }
  for (const auto& wait : waits_.entries()) consider(wait.key);
  return jump;
}

void Tiresias::fields(Archive& archive) {
  const auto archive_heap = [&](IndexedHeap<Time, JobId>& heap) {
    std::vector<std::pair<Time, JobId>> entries;
    for (const auto& entry : heap.entries()) entries.emplace_back(entry.key, entry.id);
    archive(entries);
    if (!archive.reads()) return;
    heap = {};
    for (const auto& [time, job] : entries) heap.set(job, time);
  };
  archive(head_label_, tail_label_, wake_);
  archive_heap(limits_);
  archive_heap(waits_);
  if (archive.reads()) running_.clear();
  for (std::uint32_t queue = 0; queue < queues_; ++queue) {
    archive(queue_gpus_[queue]);
    archive.ids(running_.jobs(queue), [&](JobId job) {
      archive(states_.grow_to(job));
      if (archive.reads()) running_.push_back(queue, job);
    });
  }
  archive(waiting_);
  waiting_.for_each([&](const OrderKey& key) {
    JobId job = key.job;
    archive(job, states_.grow_to(key.job));
    archive.expect(job == key.job);
  });
}

constexpr std::string_view kPlacements =
    "count/first-fit/best-fit/yarn/consolidate/rack/spread/rack-first/skew";
static_assert(kPlacements.starts_with(kPlacementChoices));

constexpr OptionSpec kOptions[] = {
    list_option("limits", "3250/7200", "GPU-seconds or seconds", 1, 1e9,
                "Attained service at which a job leaves each queue except the last, increasing; "
                "the defaults are the artefact's."),
    choice_option("placement", "count", kPlacements,
                  "Placement of a gang, or skew: consolidate for jobs of skewed models, best-fit "
                  "for others; the default is the Tiresias simulator's."),
    kMixedOption,
    kUpgradeOption,
    real_option(
        "skew", "0.4", "", 0, 1,
        "With placement=skew: a model is skewed if more than this fraction of its exchange is "
        "in one tensor (largest_tensor_mb); chosen, between VGG and the others."),
    real_option("promote", "0", "times the running time", 0, 1000,
                "How long a preempted job waits before it returns to the first queue; 0, the "
                "artefact's default: for ever."),
    flag_option(
        "gittins", "false",
        "Order each queue by Gittins index instead of arrival; the default is the artefact's."),
    {.name = "gittins_file",
     .type = OptionType::kFile,
     .fallback = "",
     .unit = "",
     .choices = "",
     .help = "GPU-seconds of service that earlier jobs needed, one whole number per line; by "
             "default 21 quantiles of the artefact's yarn-gput1000.csv."},
    integer_option("gittins_quantum_gpu_s", "3250", "GPU-seconds", 1, 1e9,
                   "Service quantum of the Gittins index, which is how far ahead it looks; the "
                   "default is the artefact's."),
    choice_option(
        "unit", "gpu-seconds", "gpu-seconds/seconds",
        "Unit of service: GPUs x running time (the artefact's dlas-gpu), or running time (dlas)."),
};

Result<std::vector<std::int64_t>> checked_limits(const PolicyOptions& options) {
  std::vector<std::int64_t> limits;
  for (double limit : options.list("limits")) {
    limits.push_back(static_cast<std::int64_t>(limit));
    if (static_cast<double>(limits.back()) != limit) {
      return input_error("policy tiresias: limits must be whole numbers: {}",
                         options.text("limits"));
    }
  }
  if (std::ranges::adjacent_find(limits, std::greater_equal<>()) != limits.end()) {
    return input_error("policy tiresias: limits must increase: {}", options.text("limits"));
  }
  return limits;
}

// Reads the file also if gittins=false, so that a wrong name is an error either way.
Result<std::vector<std::int64_t>> service_samples(const PolicyOptions& options) {
  const std::string_view file = options.text("gittins_file");
  if (!file.empty()) return read_service_samples(file);
  return std::vector<std::int64_t>(builtin_service_samples().begin(),
                                   builtin_service_samples().end());
}

}  // namespace

Result<TiresiasOptions> tiresias_options(const PolicyOptions& options) {
  const bool by_skew = options.is("placement", "skew");
  FL_TRY_ASSIGN(limits, checked_limits(options));
  FL_TRY_ASSIGN(samples, service_samples(options));
  TiresiasOptions made{
      .placement = by_skew ? Placement::kBestFit.mixing(options.flag(kMixedOption.name))
                           : options.placement(),
      .consolidate_above = by_skew ? std::optional(options.real("skew")) : std::nullopt,
      .unit = options.choice("unit", {ServiceUnit::kGpuTime, ServiceUnit::kTime}),
      .limits_s = std::move(limits),
      .promote_thousandths = static_cast<std::int64_t>(options.real("promote") * 1000),
      .gittins = std::nullopt};
  if (options.flag("gittins"))
    made.gittins = GittinsIndex(std::move(samples), options.integer("gittins_quantum_gpu_s"));
  return made;
}

std::unique_ptr<Policy> make_tiresias(TiresiasOptions options) {
  return std::make_unique<Tiresias>(std::move(options));
}

const PolicyEntry kTiresias = {
    .name = "tiresias",
    .summary = "Queues by attained service, with preemption; durations are not known.",
    .paper = "Gu et al., Tiresias, NSDI 2019",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      FL_TRY_ASSIGN(made, tiresias_options(options));
      return make_tiresias(std::move(made));
    },
    .traits =
        [](const PolicyOptions& options) {
          if (!options.is("placement", "skew")) return placement_traits(options);
          const bool mixes = options.flag(kMixedOption.name);
          return PlacementTraits{.placement = Placement::kBestFit.mixing(mixes)};
        }};

}  // namespace fairlead
