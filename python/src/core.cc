// The module fairlead._core: the parts of the library that the package fairlead uses. Users import the package.
#include "fairlead/base/overloaded.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/metrics/metrics.h"
#include "fairlead/policy/registry.h"
#include "fairlead/report/json.h"
#include "fairlead/report/result_files.h"
#include "fairlead/run/simulation.h"
#include "fairlead/trace/generate.h"
#include "fairlead/trace/trace.h"

#include "inputs.h"
#include "python_policy.h"
#include "table.h"

#include <cmath>
#include <limits>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <optional>

namespace fairlead::python {
namespace {

namespace nb = nanobind;
using nanobind::literals::operator""_a;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kStepsBetweenSignals = 1024;

double seconds_or_unknown(const auto& time) {
  return time ? static_cast<double>(time->ms) / 1000 : kUnknown;
}

void raise_if_failed(const Status& status) {
  if (!status) LibraryError::raise(status.error());
}

// The columns of jobs.csv.
Table jobs_table(const Metrics& metrics, const GpuCosts& costs) {
  Texts job, user, model, gpu_types, status;
  std::vector<std::int64_t> gpus, preemptions, migrations;
  std::vector<double> submit, start, finish, jct, queue, energy, cost;
  JobResult row;
  for (JobId id : ids<JobId>(metrics.jobs().size())) {
    if (metrics.jobs().status[id] == JobStatus::kUnseen) continue;
    get_job_result(metrics, id, row);
    job.add(row.job);
    user.add(row.user);
    model.add(row.model);
    gpus.push_back(row.gpus);
    submit.push_back(to_seconds(row.submit));
    start.push_back(seconds_or_unknown(row.start));
    finish.push_back(seconds_or_unknown(row.finish));
    jct.push_back(seconds_or_unknown(row.jct));
    queue.push_back(seconds_or_unknown(row.queue));
    gpu_types.add(row.gpu_types);
    preemptions.push_back(row.preemptions);
    migrations.push_back(row.migrations);
    status.add(row.status);
    energy.push_back(costs.energy_kwh.has(id) ? costs.energy_kwh[id] : 0);
    cost.push_back(costs.price.has(id) ? costs.price[id] : 0);
  }
  Table table{{{"job", std::move(job)},
               {"user", std::move(user)},
               {"model", std::move(model)},
               {"gpus", std::move(gpus)},
               {"submit_s", std::move(submit)},
               {"start_s", std::move(start)},
               {"finish_s", std::move(finish)},
               {"jct_s", std::move(jct)},
               {"queue_s", std::move(queue)},
               {"gpu_types", std::move(gpu_types)},
               {"preemptions", std::move(preemptions)},
               {"migrations", std::move(migrations)},
               {"status", std::move(status)}}};
  if (costs.total.energy_jobs_kwh) table.columns.push_back({"energy_kwh", std::move(energy)});
  if (costs.total.jobs) table.columns.push_back({"cost", std::move(cost)});
  return table;
}

// The main columns of users.csv.
Table users_table(const Summary& summary) {
  Texts user, group;
  std::vector<std::int64_t> tickets, jobs;
  std::vector<double> had, entitled, work, jct, queue, energy, cost;
  for (const UserSummary& one : summary.users) {
    user.add(one.user);
    group.add(one.group);
    tickets.push_back(one.tickets);
    jobs.push_back(one.jobs);
    had.push_back(one.gpu_hours);
    entitled.push_back(one.entitled_gpu_hours);
    work.push_back(one.work_gpu_hours);
    jct.push_back(one.jct_avg_s.value_or(kUnknown));
    queue.push_back(one.queue_avg_s.value_or(kUnknown));
    energy.push_back(one.energy_kwh.value_or(kUnknown));
    cost.push_back(one.cost.value_or(kUnknown));
  }
  Table table{{{"user", std::move(user)},
               {"group", std::move(group)},
               {"tickets", std::move(tickets)},
               {"jobs", std::move(jobs)},
               {"gpu_hours", std::move(had)},
               {"entitled_gpu_hours", std::move(entitled)},
               {"work_gpu_hours", std::move(work)},
               {"jct_avg_s", std::move(jct)},
               {"queue_avg_s", std::move(queue)}}};
  if (summary.cost.energy_jobs_kwh) table.columns.push_back({"energy_kwh", std::move(energy)});
  if (summary.cost.jobs) table.columns.push_back({"cost", std::move(cost)});
  return table;
}

Table timeline_table(const Metrics& metrics) {
  Texts user;
  std::vector<double> t, allocated, entitled, running, waiting;
  for (const TimelinePoint& point : timeline_of(metrics)) {
    t.push_back(to_seconds(point.t));
    user.add(point.user);
    allocated.push_back(point.gpus_allocated);
    entitled.push_back(point.gpus_entitled);
    running.push_back(point.jobs_running);
    waiting.push_back(point.jobs_waiting);
  }
  return {{{"t_s", std::move(t)},
           {"user", std::move(user)},
           {"gpus_held", std::move(allocated)},
           {"gpus_entitled", std::move(entitled)},
           {"jobs_running", std::move(running)},
           {"jobs_waiting", std::move(waiting)}}};
}

// Events of jobs, from the journal (`fairlead journal dump` prints all of its records).
class EventColumns : public RecordSink {
 public:
  void on(const Record& record) override {
    std::visit(Overloaded{
                   [&](const record::Arrived& what) {
                     names_.grow_to(what.asked.job) = what.asked.name;
                     add(record.t, "arrived", what.asked.job, what.asked.gpus);
                   },
                   [&](const record::Rejected& what) {
                     names_.grow_to(what.asked.job) = what.asked.name;
                     add(record.t, "rejected", what.asked.job, what.asked.gpus);
                   },
                   [&](const record::Place& what) {
                     add(record.t, place_kind_name(what.kind), what.job, gpus_of(what.gang));
                   },
                   [&](const record::Stop& what) { add(record.t, "stop", what.job, 0); },
                   [&](const record::Evicted& what) { add(record.t, "evicted", what.job, 0); },
                   [&](const record::Finished& what) { add(record.t, "finished", what.job, 0); },
                   [&](const record::Failed& what) { add(record.t, "failed", what.job, 0); },
                   [&](const record::Cancelled& what) { add(record.t, "cancelled", what.job, 0); },
                   [](const auto&) {},
               },
               record.what);
  }
  Table take() {
    return {{{"t_s", std::move(t_)},
             {"event", std::move(event_)},
             {"job", std::move(job_)},
             {"gpus", std::move(gpus_)}}};
  }

 private:
  void add(Time t, std::string_view event, JobId job, std::uint32_t gpus) {
    t_.push_back(to_seconds(t));
    event_.add(event);
    job_.add(names_[job]);
    gpus_.push_back(gpus);
  }

  IdVector<JobId, std::string> names_;
  std::vector<double> t_;
  Texts event_, job_;
  std::vector<std::int64_t> gpus_;
};

// A finished run.
class FinishedRun {
 public:
  FinishedRun(Simulation simulation, std::string hash)
      : simulation_(std::move(simulation)), hash_(std::move(hash)) {}

  std::string summary() const { return summary_json(facts_and_summary().second); }
  std::shared_ptr<Table> jobs() const {
    return std::make_shared<Table>(jobs_table(simulation_.metrics(), simulation_.facts().costs));
  }
  std::shared_ptr<Table> users() const {
    return std::make_shared<Table>(users_table(facts_and_summary().second));
  }
  std::shared_ptr<Table> timeline() const {
    return std::make_shared<Table>(timeline_table(simulation_.metrics()));
  }
  // Writes the files of `fairlead simulate`, except the journal, which exists already.
  void save(const std::string& path) const {
    auto folder = value_or_raise(ResultFolder::open(path));
    const auto [facts, summary] = facts_and_summary();
    const SimulationCounts counts = simulation_.counts();
    raise_if_failed(write_results(folder, simulation_.metrics(), facts, summary,
                                  {.decisions = counts.decisions, .events = counts.events}));
    raise_if_failed(folder.keep());
  }
  std::int64_t decisions() const { return simulation_.counts().decisions; }
  const std::string& hash() const { return hash_; }

 private:
  std::pair<RunFacts, Summary> facts_and_summary() const {
    RunFacts facts = simulation_.facts();
    facts.journal_hash = hash_;
    Summary summary = simulation_.metrics().summary(facts);
    return {std::move(facts), std::move(summary)};
  }

  Simulation simulation_;
  std::string hash_;
};

// Runs to the end. Checks Python's signals now and then: Ctrl-C ends the run.
void run_to_end(Simulation& simulation, const PythonPolicy* policy) {
  std::optional<nb::gil_scoped_release> released;
  if (policy == nullptr) released.emplace();
  for (std::int64_t step = 1;; ++step) {
    const Result<bool> goes_on = simulation.step();
    if (policy != nullptr && policy->error()) std::rethrow_exception(policy->error());
    if (!goes_on || step % kStepsBetweenSignals == 0) {
      const nb::gil_scoped_acquire lock;
      if (!goes_on) LibraryError::raise(goes_on.error());
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    if (!*goes_on) return;
  }
}

std::shared_ptr<FinishedRun> simulate(const std::string& cluster, const Trace& trace,
                                      nb::object policy, const std::vector<std::string>& settings,
                                      std::uint64_t seed, std::optional<double> until_s,
                                      const std::string& journal) {
  SimulationInputs inputs{.cluster = value_or_raise(load_cluster(cluster)),
                          .trace = trace,
                          .settings = value_or_raise(parse_settings(settings)),
                          .seed = seed};
  if (until_s) inputs.until = Time{std::llround(*until_s * 1000)};
  PythonPolicy* own = nullptr;
  if (nb::isinstance<nb::str>(policy)) {
    raise_if_failed(inputs.use_policy(nb::cast<std::string>(policy)));
  } else {
    auto made = std::make_unique<PythonPolicy>(policy, trace.jobs());
    own = made.get();
    inputs.policy = std::move(made);
    if (nb::hasattr(policy, "options"))
      inputs.policy_options = nb::cast<std::string>(nb::str(policy.attr("options")));
  }
  auto file = value_or_raise(JournalFile::create(journal));
  Simulation simulation = value_or_raise(Simulation::make(std::move(inputs)));
  simulation.add_sink(file);
  run_to_end(simulation, own);
  raise_if_failed(file.close());
  return std::make_shared<FinishedRun>(std::move(simulation), file.hash());
}

nb::object column_of(const std::shared_ptr<Table>& table, const Column& column) {
  nb::capsule owner(new std::shared_ptr<Table>(table),
                    [](void* p) noexcept { delete static_cast<std::shared_ptr<Table>*>(p); });
  if (const auto* numbers = std::get_if<std::vector<double>>(&column.values))
    return nb::cast(nb::ndarray<nb::numpy, const double, nb::ndim<1>>(numbers->data(),
                                                                      {numbers->size()}, owner));
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&column.values))
    return nb::cast(nb::ndarray<nb::numpy, const std::int64_t, nb::ndim<1>>(
        whole->data(), {whole->size()}, owner));
  const auto& texts = std::get<Texts>(column.values);
  nb::list list;
  const std::string_view bytes = texts.bytes;
  for (std::size_t i = 0; i + 1 < texts.offsets.size(); ++i) {
    const auto from = static_cast<std::size_t>(texts.offsets[i]);
    list.append(bytes.substr(from, static_cast<std::size_t>(texts.offsets[i + 1]) - from));
  }
  return list;
}

void bind_table(nb::module_& module) {
  nb::class_<Table>(
      module, "Table",
      "Columns of equal length, readable by name and by the Arrow C stream interface.")
      .def_prop_ro("column_names",
                   [](const Table& table) {
                     std::vector<std::string> names;
                     for (const Column& column : table.columns) names.push_back(column.name);
                     return names;
                   })
      .def_prop_ro("num_rows", &Table::rows)
      .def("__len__", &Table::rows)
      .def("__getitem__",
           [](const std::shared_ptr<Table>& table, const std::string& name) {
             for (const Column& column : table->columns) {
               if (column.name == name) return column_of(table, column);
             }
             throw nb::key_error(name.c_str());
           })
      .def(
          "__arrow_c_stream__",
          [](const std::shared_ptr<Table>& table, const nb::object& /*requested_schema*/) {
            return nb::capsule(export_stream(table), "arrow_array_stream", [](void* p) noexcept {
              delete_stream(static_cast<ArrowArrayStream*>(p));
            });
          },
          "requested_schema"_a = nb::none());
}

Trace generated(std::int64_t jobs, std::uint64_t seed, std::int64_t capacity_gpus, double load,
                std::int64_t users, double duration_scale) {
  GenerateOptions options{.jobs = jobs,
                          .seed = seed,
                          .capacity_gpus = capacity_gpus,
                          .load = load,
                          .duration_scale = duration_scale};
  if (users < 1 || users > 100'000) throw nb::value_error("users must be from 1 to 100000");
  options.users = unequal_users(users, {1});
  return Trace(value_or_raise(generate(options)));
}

void bind(nb::module_& module) {
  bind_table(module);
  bind_policy(module);
  nb::class_<Trace>(module, "Trace", "The jobs of a run.")
      .def_prop_ro("name", &Trace::name)
      .def("__len__", &Trace::jobs);
  nb::class_<FinishedRun>(module, "FinishedRun")
      .def("summary", &FinishedRun::summary)
      .def("jobs", &FinishedRun::jobs)
      .def("users", &FinishedRun::users)
      .def("timeline", &FinishedRun::timeline)
      .def("save", &FinishedRun::save, "folder"_a)
      .def_prop_ro("decisions", &FinishedRun::decisions)
      .def_prop_ro("journal_hash", &FinishedRun::hash);
  module.def("use_errors", &LibraryError::use, "input_error"_a, "run_error"_a);
  module.def("simulate", &simulate, "cluster"_a, "trace"_a, "policy"_a, "settings"_a, "seed"_a,
             "until_s"_a.none(), "journal"_a);
  module.def(
      "read_trace", [](const std::string& path) { return value_or_raise(Trace::read(path)); },
      "path"_a);
  module.def("trace_of", &trace_of, "name"_a, "columns"_a,
             nb::sig("def trace_of(name: str, columns: dict[str, list[object]]) -> Trace"));
  module.def("generate", &generated, "jobs"_a, "seed"_a, "capacity_gpus"_a, "load"_a, "users"_a,
             "duration_scale"_a);
  module.def(
      "events",
      [](const std::string& journal) {
        EventColumns events;
        value_or_raise(read_finished_journal(journal, events));
        return std::make_shared<Table>(events.take());
      },
      "journal"_a);
  module.def("policies", [] {
    std::vector<std::string> names;
    for (const PolicyEntry* entry : all_policies()) names.emplace_back(entry->name);
    return names;
  });
  module.def("version", [] { return std::string(version()); });
}

}  // namespace
}  // namespace fairlead::python

NB_MODULE(_core, module) { fairlead::python::bind(module); }
