#include "python_policy.h"

#include "fairlead/model/known_speed.h"
#include "fairlead/model/known_work.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/kit/placement.h"

#include <fmt/format.h>

#include <cmath>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <vector>

namespace fairlead::python {
namespace {

namespace nb = nanobind;
using nanobind::literals::operator""_a;

constexpr std::int64_t kJobGpusLimit = 1'000'000;

template <class T>
using Array = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;

const View& now(const ViewOfNow& of) {
  if (of.view == nullptr)
    throw std::runtime_error("this view has expired: it is valid for one call of decide()");
  return *of.view;
}

Plan& draft(const PlanOfNow& of) {
  if (of.plan == nullptr)
    throw std::runtime_error("this plan has expired: it is valid for one call of decide()");
  return *of.plan;
}

// A column of all jobs.
template <class T>
Array<T> column(const ViewOfNow& of, std::vector<T> JobColumns::*values) {
  now(of);
  const std::vector<T>& rows = of.columns->*values;
  return {rows.data(), {rows.size()}, of.keeper};
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> owned(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {kept->data(), {kept->size()}, owner};
}

auto rows_of(std::span<const JobId> jobs) {
  std::vector<std::uint32_t> all;
  all.reserve(jobs.size());
  for (JobId job : jobs) all.push_back(job.row());
  return owned(std::move(all));
}

JobId job_of(const View& view, std::int64_t row) {
  if (row < 0 || std::cmp_greater_equal(row, view.jobs.size()) ||
      !view.jobs.has(JobId(static_cast<std::size_t>(row))))
    throw nb::index_error(fmt::format("no such job in this run: {}", row).c_str());
  return JobId(static_cast<std::size_t>(row));
}

JobId here(const View& view, std::int64_t row) {
  const JobId job = job_of(view, row);
  if (!view.jobs.is_here(job))
    throw nb::value_error(fmt::format("job {} has ended, or has not arrived", row).c_str());
  return job;
}

NodeId node_of(const View& view, std::int64_t row) {
  if (row < 0 || std::cmp_greater_equal(row, view.cluster.nodes()))
    throw nb::index_error(
        fmt::format("no such node: {} (there are {})", row, view.cluster.nodes()).c_str());
  return NodeId(static_cast<std::size_t>(row));
}

// Raises the rule of Plan that was just broken, at the line that broke it.
void check(const Plan& plan) {
  if (!plan.misuse().what.empty()) throw nb::value_error(plan.misuse().what.c_str());
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> slices_of(Gang gang) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> slices;
  for (Slice slice : gang) slices.emplace_back(slice.node.row(), slice.gpus);
  return slices;
}

bool place_job(const PlanOfNow& of, std::int64_t row, const std::string& placement) {
  Plan& plan = draft(of);
  const JobId job = here(*of.view, row);
  const auto named = placement_named(placement);
  if (!named)
    throw nb::value_error(
        fmt::format("placement must be one of {}: {}", kPlacementChoices, placement).c_str());
  if (plan.has_gang(job))
    throw nb::value_error(
        fmt::format("place: job {} already has a gang; stop it first", row).c_str());
  const bool is_placed =
      place(*named, of.view->cluster, plan, job, of.view->jobs.gpus[job], of.view->jobs.types[job]);
  check(plan);
  return is_placed;
}

double attained(const View& view, JobId job) {
  return static_cast<double>(saturated_gpu_ms(view.jobs.attained(job, view.now))) / 1000;
}

void bind_view(nb::module_& module) {
  nb::class_<ViewOfNow>(
      module, "View", "The information of a policy at one moment; valid for one call of decide().")
      .def_prop_ro(
          "now_s", [](const ViewOfNow& of) { return to_seconds(now(of).now); },
          "The time, in seconds since the start of the run.")
      .def_prop_ro(
          "now_ms", [](const ViewOfNow& of) { return now(of).now.ms; },
          "The time in milliseconds, exactly.")
      .def_prop_ro(
          "waiting", [](const ViewOfNow& of) { return rows_of(now(of).waiting); },
          nb::rv_policy::automatic, "Rows of the waiting jobs, in no order (a copy).")
      .def_prop_ro(
          "running", [](const ViewOfNow& of) { return rows_of(now(of).running); },
          nb::rv_policy::automatic, "Rows of the running jobs, in no order (a copy).")
      .def_prop_ro(
          "gpus", [](const ViewOfNow& of) { return column(of, &JobColumns::gpus); },
          nb::rv_policy::automatic, "GPUs requested by each job, by row.")
      .def_prop_ro(
          "gpus_min", [](const ViewOfNow& of) { return column(of, &JobColumns::gpus_min); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "gpus_max", [](const ViewOfNow& of) { return column(of, &JobColumns::gpus_max); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "held_gpus",
          [](const ViewOfNow& of) {
            const auto& allocated = now(of).jobs.allocated_gpus;
            return owned(std::vector<std::uint32_t>(allocated.begin(), allocated.end()));
          },
          nb::rv_policy::automatic, "GPUs of each job at present, by row (a copy).")
      .def_prop_ro(
          "arrival_ms", [](const ViewOfNow& of) { return column(of, &JobColumns::arrival_ms); },
          nb::rv_policy::automatic, "Arrival time of each job, in milliseconds.")
      .def_prop_ro(
          "user", [](const ViewOfNow& of) { return column(of, &JobColumns::user); },
          nb::rv_policy::automatic, "The row of each job's user.")
      .def_prop_ro(
          "model", [](const ViewOfNow& of) { return column(of, &JobColumns::model); },
          nb::rv_policy::automatic,
          "The row of each job's model; 2^32 - 1 if the trace names none.")
      .def_prop_ro(
          "tickets",
          [](const ViewOfNow& of) {
            const auto& tickets = now(of).users.tickets;
            return owned(std::vector<std::int64_t>(tickets.begin(), tickets.end()));
          },
          nb::rv_policy::automatic, "Tickets, by row of a user (a copy).")
      .def_prop_ro(
          "node_gpus",
          [](const ViewOfNow& of) {
            const auto& gpus = now(of).cluster.node_gpus;
            return owned(std::vector<std::uint32_t>(gpus.begin(), gpus.end()));
          },
          nb::rv_policy::automatic, "GPUs of each node (a copy).")
      .def_prop_ro(
          "gpu_types",
          [](const ViewOfNow& of) {
            const auto& names = now(of).cluster.type_names;
            return std::vector<std::string>(names.begin(), names.end());
          },
          "Names of the GPU types.")
      .def(
          "node_type",
          [](const ViewOfNow& of, std::int64_t node) {
            const View& view = now(of);
            return view.cluster.node_type[node_of(view, node)].row();
          },
          "node"_a, "The row of the node's GPU type.")
      .def(
          "attained_gpu_s",
          [](const ViewOfNow& of, std::int64_t job) {
            return attained(now(of), job_of(now(of), job));
          },
          "job"_a, "GPU time that the job has received, in GPU-seconds.")
      .def(
          "attained_gpu_ms",
          [](const ViewOfNow& of,
             nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> jobs) {
            const View& view = now(of);
            std::vector<std::int64_t> all;
            for (std::size_t i = 0; i < jobs.size(); ++i)
              all.push_back(
                  saturated_gpu_ms(view.jobs.attained(job_of(view, jobs.data()[i]), view.now)));
            return owned(std::move(all));
          },
          "jobs"_a, "The same for several jobs at once, in GPU-milliseconds, exactly.")
      .def(
          "remaining_s",
          [](const ViewOfNow& of, std::int64_t job) {
            return to_seconds(now(of).work.remaining(here(now(of), job)));
          },
          "job"_a,
          "Remaining work of the job, in seconds on its reference gang, as far as it is known to "
          "the "
          "policy "
          "(needs_work).")
      .def(
          "speed",
          [](const ViewOfNow& of, std::int64_t job, std::int64_t type,
             std::int64_t gpus) -> std::optional<double> {
            const View& view = now(of);
            if (type < 0 || std::cmp_greater_equal(type, view.cluster.type_names.size()))
              throw nb::index_error(fmt::format("no such GPU type: {}", type).c_str());
            if (gpus < 1 || gpus > kJobGpusLimit)
              throw nb::value_error(
                  fmt::format("a gang has 1 to {} GPUs: {}", kJobGpusLimit, gpus).c_str());
            const auto count = static_cast<std::uint32_t>(gpus);
            const auto rate =
                view.speed.rate(here(view, job), GpuTypeId(static_cast<std::size_t>(type)), count,
                                view.cluster.best_tier(count));
            if (!rate) return std::nullopt;
            return rate->value();
          },
          "job"_a, "gpu_type"_a, "gpus"_a,
          "Speed of the job relative to its reference gang, on that many GPUs of a type near each "
          "other; None if it "
          "is not known (needs_speeds).");
}

StopCause cause_named(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < kStopCauses; ++i) {
    const auto cause = static_cast<StopCause>(i);
    if (is_by_user(cause)) continue;
    if (stop_cause_name(cause) == name) return cause;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", stop_cause_name(cause));
  }
  throw nb::value_error(fmt::format("stop: cause {} is none of {}", name, known).c_str());
}

void bind_plan(nb::module_& module) {
  nb::class_<PlanOfNow>(module, "Plan",
                        "A draft of the placements; at first every job keeps its GPUs.")
      .def_prop_ro(
          "free_gpus", [](const PlanOfNow& of) { return draft(of).free().total(); },
          "GPUs that are free in this draft.")
      .def(
          "free_on",
          [](const PlanOfNow& of, std::int64_t node) {
            const Plan& plan = draft(of);
            return plan.free().on(node_of(*of.view, node));
          },
          "node"_a, "GPUs of a node that are free in this draft.")
      .def(
          "free_by_node",
          [](const PlanOfNow& of) {
            const Plan& plan = draft(of);
            std::vector<std::uint32_t> all;
            for (NodeId node : ids<NodeId>(of.view->cluster.nodes()))
              all.push_back(plan.free().on(node));
            return owned(std::move(all));
          },
          "Free GPUs of all nodes (a copy).")
      .def(
          "has_gang",
          [](const PlanOfNow& of, std::int64_t job) {
            return draft(of).has_gang(here(*of.view, job));
          },
          "job"_a, "Whether the job has GPUs in this draft.")
      .def(
          "gang",
          [](const PlanOfNow& of, std::int64_t job) {
            return slices_of(draft(of).gang(here(*of.view, job)));
          },
          "job"_a, "The job's gang in this draft, as (node, GPUs).")
      .def(
          "place", place_job, "job"_a, "placement"_a = "count",
          "Gives a job its requested gang. Returns False and changes nothing if there is no place.")
      .def(
          "place_on",
          [](const PlanOfNow& of, std::int64_t row,
             const std::vector<std::pair<std::int64_t, std::int64_t>>& slices) {
            Plan& plan = draft(of);
            const JobId job = here(*of.view, row);
            std::int64_t gpus = 0;
            for (const auto& [node, count] : slices) {
              if (count < 1 || count > kJobGpusLimit)
                throw nb::value_error(
                    fmt::format("place_on: {} GPUs of node {}", count, node).c_str());
              node_of(*of.view, node);
              gpus += count;
            }
            const Jobs& jobs = of.view->jobs;
            if (gpus != jobs.gpus[job])
              throw nb::value_error(fmt::format("place_on: {} GPUs for job {}, which asks for {}",
                                                gpus, row, jobs.gpus[job])
                                        .c_str());
            for (const auto& [node, count] : slices)
              plan.take(node_of(*of.view, node), static_cast<std::uint32_t>(count));
            const bool is_placed = plan.place(job);
            check(plan);
            return is_placed;
          },
          "job"_a, "slices"_a,
          "Gives a job these (node, GPUs), and returns True. Raises if they are not free. A pinned "
          "job gets the\n"
          "GPUs of its last run instead, or none: then it returns False.")
      .def(
          "stop",
          [](const PlanOfNow& of, std::int64_t row, std::string_view cause) {
            Plan& plan = draft(of);
            const JobId job = here(*of.view, row);
            if (!plan.has_gang(job))
              throw nb::value_error(fmt::format("stop: job {} has no GPUs", row).c_str());
            plan.stop(job, cause_named(cause));
            check(plan);
          },
          "job"_a, "cause"_a = "policy",
          "Takes all GPUs from a job; its progress is kept. The journal keeps the cause, such as "
          "turn,\n"
          "round or priority.")
      .def(
          "wake_at_s",
          [](const PlanOfNow& of, double time_s) {
            Plan& plan = draft(of);
            if (!(time_s <= 3e9) || time_s * 1000 <= static_cast<double>(of.view->now.ms))
              throw nb::value_error(fmt::format("wake_at_s: {} s is not after now, {} s", time_s,
                                                to_seconds(of.view->now))
                                        .c_str());
            plan.wake_at(Time{std::llround(time_s * 1000)});
            check(plan);
          },
          "time_s"_a,
          "Requests a decision at a future time, in seconds since the start of the run.");
}

Needs needs_of(nb::handle object) {
  const auto flag = [&](const char* name) {
    return nb::hasattr(object, name) && nb::cast<bool>(object.attr(name));
  };
  Needs needs;
  if (flag("needs_speeds")) needs.rates = RatesNeeded::kTable;
  if (flag("needs_work")) needs.work = kAnyWork;
  return needs;
}

}  // namespace

PythonPolicy::PythonPolicy(nb::object object, std::size_t jobs)
    : object_(std::move(object)),
      decide_(object_.attr("decide")),
      view_(nb::cast(ViewOfNow{})),
      plan_(nb::cast(PlanOfNow{})),
      columns_(new JobColumns{.gpus = std::vector<std::uint32_t>(jobs),
                              .gpus_min = std::vector<std::uint32_t>(jobs),
                              .gpus_max = std::vector<std::uint32_t>(jobs),
                              .user = std::vector<std::uint32_t>(jobs),
                              .model = std::vector<std::uint32_t>(jobs),
                              .arrival_ms = std::vector<std::int64_t>(jobs)}),
      now_(nb::inst_ptr<ViewOfNow>(view_)),
      draft_(nb::inst_ptr<PlanOfNow>(plan_)),
      name_(nb::hasattr(object_, "name") ? nb::cast<std::string>(nb::str(object_.attr("name")))
                                         : "python"),
      needs_(needs_of(object_)) {
  now_->columns = columns_;
  now_->keeper =
      nb::capsule(columns_, [](void* p) noexcept { delete static_cast<JobColumns*>(p); });
}

PythonPolicy::~PythonPolicy() {
  const nb::gil_scoped_acquire lock;
  error_ = nullptr;
  object_.reset();
  decide_.reset();
  view_.reset();
  plan_.reset();
}

void PythonPolicy::add_jobs(const View& view) {
  for (const Event& event : view.news) {
    if (event.kind != EventKind::kArrived) continue;
    const JobId job = event.job;
    const std::size_t row = job.row();
    if (row >= columns_->gpus.size()) continue;  // not a job of the trace
    columns_->gpus[row] = view.jobs.gpus[job];
    columns_->gpus_min[row] = view.jobs.gpus_min[job];
    columns_->gpus_max[row] = view.jobs.gpus_max[job];
    columns_->user[row] = view.jobs.user[job].row();
    columns_->model[row] = view.jobs.model[job].row();
    columns_->arrival_ms[row] = view.jobs.arrival[job].ms;
  }
}

void PythonPolicy::decide(const View& view, Plan& plan) {
  if (error_) return;
  add_jobs(view);
  now_->view = draft_->view = &view;
  draft_->plan = &plan;
  try {
    decide_(view_, plan_);
  } catch (...) {
    error_ = std::current_exception();
  }
  now_->view = draft_->view = nullptr;
  draft_->plan = nullptr;
}

void bind_policy(nb::module_& module) {
  bind_view(module);
  bind_plan(module);
}

}  // namespace fairlead::python
