// A policy that calls a Python object for its decisions. The object gets a view and a plan, which are valid for one
// call.
//
// Columns of job requests are read-only numpy arrays. Their memory has a row for each job of the trace from the start,
// and lives as long as any array on it. So an array that outlives its call, or its run, is still readable. Rows of jobs
// that have not arrived are zero.
#pragma once

#include "fairlead/policy/policy.h"

#include <cstdint>
#include <exception>
#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace fairlead::python {

// The requests of the jobs, by job.
struct JobColumns {
  std::vector<std::uint32_t> gpus, gpus_min, gpus_max, user, model;
  std::vector<std::int64_t> arrival_ms;
};
// The arguments of a Python policy's decide(). They reject all use after the call.
struct ViewOfNow {
  const View* view = nullptr;
  nanobind::capsule keeper;  // keeps `columns` alive
  const struct JobColumns* columns = nullptr;
};
struct PlanOfNow {
  const View* view = nullptr;
  Plan* plan = nullptr;
};

class PythonPolicy : public Policy {
 public:
  // `object` has decide(view, plan), and may have `name`, `needs_speeds` and `needs_work`. `jobs`: number of jobs in
  // the trace.
  PythonPolicy(nanobind::object object, std::size_t jobs);
  ~PythonPolicy() override;

  std::string_view name() const override { return name_; }
  Needs needs() const override { return needs_; }
  // If the object raises, error() returns the exception, and later calls do nothing.
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& /*archive*/) override {}

  const std::exception_ptr& error() const { return error_; }

 private:
  void add_jobs(const View& view);

  nanobind::object object_, decide_, view_, plan_;
  JobColumns* columns_;         // columns of the keeper in view_
  ViewOfNow* now_ = nullptr;    // in view_
  PlanOfNow* draft_ = nullptr;  // in plan_
  std::string name_;
  Needs needs_;
  std::exception_ptr error_;
};

// The classes View and Plan of the module.
void bind_policy(nanobind::module_& module);

}  // namespace fairlead::python
