#include "reference/plain_policies.h"

#include "fairlead/model/step.h"
#include "fairlead/policy/placement_traits.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace fairlead::reference {
namespace {

// Everything that plain policies share: a list of jobs that is kept over time, and the steps of a
// decision once the list is in order. They cannot be saved: they only serve as oracles within one
// run.
class Plain : public Policy {
 public:
  explicit Plain(Placement placement) : placement_(placement) {
    set_traits(std::make_shared<const PlacementTraits>(PlacementTraits{.placement = placement}));
  }
  std::string_view name() const override { return "plain"; }
  Needs needs() const override { return {.work = kAnyWork}; }
  void fields(Archive&) override { FL_CHECK(false, "a plain policy is neither saved nor loaded"); }

 protected:
  bool put(const View& view, Plan& plan, JobId job, TypeMask types) const {
    return place(placement_, view.cluster, plan, job, view.jobs.gpus[job], types);
  }

  // GPUs left to give out, and GPUs that no job has, by type.
  struct Left {
    std::map<GpuTypeId, std::uint32_t> all;
    std::map<GpuTypeId, std::uint32_t> idle;
  };

  static std::map<GpuTypeId, std::uint32_t> by_type(const View& view, Gang gang) {
    std::map<GpuTypeId, std::uint32_t> gpus;
    for (Slice slice : gang) gpus[view.cluster.node_type[slice.node]] += slice.gpus;
    return gpus;
  }

  // The first type in the mask that has enough, else all of it if types may mix, else none.
  TypeMask enough(const std::map<GpuTypeId, std::uint32_t>& gpus, std::uint32_t need,
                  TypeMask types) const {
    std::uint32_t together = 0;
    for (const auto& [type, count] : gpus) {
      if ((types & type_bit(type)) == 0) continue;
      if (count >= need) return type_bit(type);
      together += count;
    }
    return placement_.mixes && together >= need ? types : 0;
  }

  TypeMask claim(Left& left, std::uint32_t need, TypeMask types) const {
    TypeMask claimed = enough(left.idle, need, types);
    if (claimed == 0) claimed = enough(left.all, need, types);
    if (claimed == 0) return 0;
    for (auto& [type, count] : left.all) {
      if ((claimed & type_bit(type)) == 0) continue;
      const std::uint32_t taken = std::min(need, count);
      count -= taken;
      left.idle[type] -= std::min(taken, left.idle[type]);
      need -= taken;
    }
    return claimed;
  }

  // Frees every GPU and gives them out along `order`; see policy/kit/preemption.h for cases in
  // which counting and placing differ.
  void give_out(const View& view, Plan& plan, const std::vector<JobId>& order,
                bool jobs_return = false) const {
    Left left;
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
      left.all[type] = left.idle[type] = plan.free().of(type);
    }
    for (JobId job : order) {
      for (const auto& [type, gpus] : by_type(view, plan.gang(job))) left.all[type] += gpus;
    }
    std::vector<JobId> victims;
    std::vector<std::pair<JobId, TypeMask>> chosen;
    for (JobId job : order) {
      if (plan.has_gang(job)) {
        const auto present = by_type(view, plan.gang(job));
        if (std::ranges::all_of(present, [&](auto& h) { return left.all[h.first] >= h.second; })) {
          for (const auto& [type, gpus] : present) left.all[type] -= gpus;
        } else {
          victims.push_back(job);
        }
      } else if (TypeMask types = claim(left, view.jobs.gpus[job], view.jobs.types[job])) {
        chosen.emplace_back(job, types);
      }
    }
    for (JobId job : victims) plan.stop(job, StopCause::kPriority);
    const auto returns = [&](JobId job, TypeMask types) {
      return jobs_return && give_back_on(view, plan, job, types);
    };
    if (placement_.scheme == Placement::Scheme::kCount) {
      for (auto [job, types] : chosen) returns(job, types);
    }
    for (auto [job, types] : chosen) {
      if (plan.has_gang(job) || returns(job, types)) continue;
      if (!put(view, plan, job, types)) put(view, plan, job, view.jobs.types[job]);
    }
    for (JobId job : victims) give_back(view, plan, job);
  }

  void fill(const View& view, Plan& plan, const std::vector<JobId>& order,
            bool jobs_return = false) const {
    for (JobId job : order) {
      if (plan.has_gang(job)) continue;
      if (jobs_return && give_back_on(view, plan, job, view.jobs.types[job])) continue;
      put(view, plan, job, view.jobs.types[job]);
    }
  }

 private:
  static void give_back(const View& view, Plan& plan, JobId job) {
    const Gang present = view.jobs.last_gang(job);
    for (Slice slice : present) {
      if (plan.free().on(slice.node) < slice.gpus) return;
    }
    for (Slice slice : present) plan.take(slice.node, slice.gpus);
    plan.place(job);
  }

  static bool give_back_on(const View& view, Plan& plan, JobId job, TypeMask types) {
    for (const auto& [type, gpus] : by_type(view, view.jobs.last_gang(job))) {
      if ((types & type_bit(type)) == 0) return false;
    }
    if (view.jobs.last_gang(job).empty()) return false;
    give_back(view, plan, job);
    return plan.has_gang(job);
  }

  const Placement placement_;
};

bool has_ended(EventKind kind) {
  return kind == EventKind::kFinished || kind == EventKind::kFailed ||
         kind == EventKind::kCancelled;
}
bool lost_gang(EventKind kind) {
  return kind == EventKind::kEvicted || kind == EventKind::kStartFailed;
}

class PlainQueue : public Plain {
 public:
  PlainQueue(Key key, OnMisfit on_misfit, Placement placement)
      : Plain(placement), key_(std::move(key)), on_misfit_(on_misfit) {}

  void decide(const View& view, Plan& plan) override {
    std::vector<JobId> order(view.waiting.begin(), view.waiting.end());
    std::ranges::sort(order, {}, [&](JobId job) {
      return std::tuple(key_(view, job), view.jobs.arrival[job], job);
    });
    for (JobId job : order) {
      if (put(view, plan, job, view.jobs.types[job])) continue;
      if (on_misfit_ == OnMisfit::kStop) return;
    }
  }

 private:
  const Key key_;
  const OnMisfit on_misfit_;
};

class PlainPriority : public Plain {
 public:
  PlainPriority(Key key, Order order, Duration quantum, bool jobs_return, Placement placement)
      : Plain(placement),
        key_(std::move(key)),
        order_(order),
        quantum_(quantum),
        jobs_return_(jobs_return) {}

  void decide(const View& view, Plan& plan) override {
    for (const Event& event : view.news) {
      // A job that lost its gang joins the tail again.
      if (has_ended(event.kind) || lost_gang(event.kind)) std::erase(list_, event.job);
      if (event.kind == EventKind::kArrived || lost_gang(event.kind)) list_.push_back(event.job);
    }
    if (order_ == Order::kByArrival) {
      std::ranges::sort(list_, {},
                        [&](JobId job) { return std::pair(view.jobs.arrival[job], job); });
    }
    std::ranges::stable_sort(list_, {}, [&](JobId job) { return key_(view, job); });
    give_out(view, plan, list_, jobs_return_);
    fill(view, plan, list_, jobs_return_);
    const auto has_gang = [&](JobId job) { return plan.has_gang(job); };
    if (quantum_.ms > 0 && std::ranges::any_of(list_, has_gang) &&
        !std::ranges::all_of(list_, has_gang)) {
      plan.wake_at({(view.now.ms / quantum_.ms + 1) * quantum_.ms});
    }
  }

 private:
  const Key key_;
  const Order order_;
  const Duration quantum_;
  const bool jobs_return_;
  std::vector<JobId> list_;
};

class PlainTiresias : public Plain {
 public:
  explicit PlainTiresias(TiresiasOptions options)
      : Plain(options.placement),
        options_(std::move(options)),
        queues_(options_.limits_s.size() + 1) {}

  void decide(const View& view, Plan& plan) override {
    for (const Event& event : view.news) {
      if (has_ended(event.kind)) remove(event.job);
      if (event.kind == EventKind::kArrived) {
        queues_[0].push_back(event.job);
        runnable_.push_back(event.job);
        jobs_[event.job] = {};
        jobs_[event.job].since = view.now;
      }
    }
    put_evicted_first(view, plan);
    std::ranges::sort(runnable_, {},
                      [&](JobId job) { return std::pair(view.jobs.arrival[job], job); });
    for (JobId job : runnable_) move_between_queues(view, plan, job);
    if (options_.gittins) sort_by_index(view);

    std::vector<JobId> order;
    for (const auto& queue : queues_) order.insert(order.end(), queue.begin(), queue.end());
    give_out(view, plan, order);
    running_first(plan);
    order.clear();
    for (const auto& queue : queues_) order.insert(order.end(), queue.begin(), queue.end());
    fill(view, plan, order);
    running_first(plan);
    for (JobId job : order) note_start_or_stop(view, plan, job);
    ask_to_be_woken(view, plan);
  }

 private:
  struct Job {
    std::size_t queue = 0;
    GpuTime forgotten;
    Duration waited;
    Time since;  // it waits since
  };

  GpuTime served(const View& view, JobId job) {
    return view.jobs.attained(job, view.now) - jobs_[job].forgotten;
  }
  GpuTime limit(const View& view, JobId job) {
    const bool gpu_time = options_.unit == ServiceUnit::kGpuTime;
    return occupancy(seconds(options_.limits_s[jobs_[job].queue]),
                     gpu_time ? 1 : view.jobs.gpus[job]);
  }
  bool is_in_last(JobId job) { return jobs_[job].queue + 1 == queues_.size(); }
  bool reached_limit(const View& view, JobId job) {
    return !is_in_last(job) && served(view, job) >= limit(view, job);
  }
  Duration patience(const View& view, JobId job) {
    return {saturated_gpu_ms(served(view, job)) / view.jobs.gpus[job] *
            options_.promote_thousandths / 1000};
  }
  bool may_be_promoted(const View& view, JobId job) {
    return options_.promote_thousandths > 0 && jobs_[job].queue > 0 && served(view, job).gpu_ms > 0;
  }
  Duration waited(const View& view, JobId job) {
    return jobs_[job].waited + (view.now - jobs_[job].since);
  }

  void remove(JobId job) {
    for (auto& queue : queues_) std::erase(queue, job);
    std::erase(runnable_, job);
  }

  // Puts jobs that lost their gang ahead of the other waiting jobs of their queue.
  void put_evicted_first(const View& view, const Plan& plan) {
    for (const Event& event : view.news) {
      if (lost_gang(event.kind)) std::erase(queues_[jobs_[event.job].queue], event.job);
    }
    for (auto event = view.news.rbegin(); event != view.news.rend(); ++event) {
      if (!lost_gang(event->kind)) continue;
      jobs_[event->job].since = view.now;
      if (reached_limit(view, event->job)) {
        queues_[jobs_[event->job].queue + 1].push_back(event->job);
        note_move(event->job, jobs_[event->job].queue + 1);
        continue;
      }
      auto& queue = queues_[jobs_[event->job].queue];
      const auto first_waiting =
          std::ranges::find_if(queue, [&](JobId job) { return !plan.has_gang(job); });
      queue.insert(first_waiting, event->job);
    }
  }

  void move_to_tail(JobId job, std::size_t to) {
    std::erase(queues_[jobs_[job].queue], job);
    queues_[to].push_back(job);
    note_move(job, to);
  }

  void note_move(JobId job, std::size_t to) {
    jobs_[job].queue = to;
    demotions_and_promotions_.push_back({job, static_cast<std::int64_t>(to)});
  }

  void move_between_queues(const View& view, const Plan& plan, JobId job) {
    if (plan.has_gang(job)) {
      if (reached_limit(view, job)) move_to_tail(job, jobs_[job].queue + 1);
    } else if (may_be_promoted(view, job) && waited(view, job) >= patience(view, job)) {
      move_to_tail(job, 0);
      jobs_[job].forgotten = view.jobs.attained(job, view.now);
      jobs_[job].waited = {};
      jobs_[job].since = view.now;
    }
  }

  void sort_by_index(const View& view) {
    for (auto& queue : queues_) {
      std::ranges::stable_sort(queue, {}, [&](JobId job) {
        return std::pair(-options_.gittins->of(served(view, job)), view.jobs.arrival[job]);
      });
    }
  }

  void running_first(const Plan& plan) {
    for (auto& queue : queues_) {
      std::stable_partition(queue.begin(), queue.end(),
                            [&](JobId job) { return plan.has_gang(job); });
    }
  }

  void note_start_or_stop(const View& view, const Plan& plan, JobId job) {
    const bool runs = plan.has_gang(job);
    const bool ran = view.jobs.state[job] == JobState::kRunning;
    if (runs && !ran && served(view, job).gpu_ms > 0) {
      jobs_[job].waited += view.now - jobs_[job].since;
    }
    if (!runs && ran) jobs_[job].since = view.now;
  }

  void ask_to_be_woken(const View& view, Plan& plan) {
    // Demotions are noted before promotions.
    for (const note::Queue& move : demotions_and_promotions_) {
      if (move.queue > 0) plan.note(move);
    }
    for (const note::Queue& move : demotions_and_promotions_) {
      if (move.queue == 0) plan.note(move);
    }
    demotions_and_promotions_.clear();
    // Only the earliest, and only if no earlier wake-up is pending. Every wake-up is a decision,
    // and the journals can only be equal if decisions come at the same times.
    Time next = Time::never();
    for (JobId job : runnable_) {
      const std::int64_t gpus = view.jobs.gpus[job];
      if (plan.has_gang(job) && !is_in_last(job)) {
        const std::int64_t left = saturated_gpu_ms(limit(view, job) - served(view, job));
        next = std::min(next, view.now + milliseconds((left + gpus - 1) / gpus));
      }
      if (!plan.has_gang(job) && may_be_promoted(view, job)) {
        const Duration left = patience(view, job) - waited(view, job);
        next = std::min(next, view.now + std::max(left, milliseconds(1)));
      }
    }
    if (next == Time::never() || (wake_ > view.now && wake_ <= next)) return;
    wake_ = next;
    plan.wake_at(wake_);
  }

  const TiresiasOptions options_;
  std::vector<std::vector<JobId>> queues_;
  std::vector<JobId> runnable_;
  std::map<JobId, Job> jobs_;
  std::vector<note::Queue> demotions_and_promotions_;
  Time wake_ = {-1};
};

}  // namespace

std::unique_ptr<Policy> plain_queue(Key key, OnMisfit on_misfit, Placement placement) {
  return std::make_unique<PlainQueue>(std::move(key), on_misfit, placement);
}

std::unique_ptr<Policy> plain_priority(Key key, Order order, Duration quantum, bool jobs_return,
                                       Placement placement) {
  return std::make_unique<PlainPriority>(std::move(key), order, quantum, jobs_return, placement);
}

std::unique_ptr<Policy> plain_tiresias(TiresiasOptions options) {
  return std::make_unique<PlainTiresias>(std::move(options));
}

}  // namespace fairlead::reference
