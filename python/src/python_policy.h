// A policy that a Python object decides for, and what it sees: the view and the plan, as objects that are good for
// one call.
//
// Columns of what jobs ask for are numpy arrays, read-only, on memory that has a row for each job of the trace from the
// beginning and lives as long as an array of it. So an array that outlives its call, or its run, is readable still;
// rows of jobs that have not come are zero.
#pragma once

#include "fairlead/policy/policy.h"

#include <cstdint>
#include <exception>
#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace fairlead::python {

// By job: what it asks for.
struct JobColumns {
  std::vector<std::uint32_t> gpus, gpus_min, gpus_max, user, model;
  std::vector<std::int64_t> arrival_ms;
};
// What decide() of a Python policy gets. It refuses all use once the call is over.
struct ViewOfNow {
  const View* view = nullptr;
  nanobind::capsule keeper;  // of `columns`
  const struct JobColumns* columns = nullptr;
};
struct PlanOfNow {
  const View* view = nullptr;
  Plan* plan = nullptr;
};

class PythonPolicy : public Policy {
 public:
  // `object` has decide(view, plan), and may have `name`, `needs_speeds` and `needs_work`. `jobs`: of the trace.
  PythonPolicy(nanobind::object object, std::size_t jobs);
  ~PythonPolicy() override;

  std::string_view name() const override { return name_; }
  Needs needs() const override { return needs_; }
  // With an error of the object's, nothing: error() has it, and what comes after is not asked.
  void decide(const View& view, Plan& plan) override;
  void fields(Archive& /*archive*/) override {}

  const std::exception_ptr& error() const { return error_; }

 private:
  void add_jobs(const View& view);

  nanobind::object object_, decide_, view_, plan_;
  JobColumns* columns_;         // of the keeper in view_
  ViewOfNow* now_ = nullptr;    // in view_
  PlanOfNow* draft_ = nullptr;  // in plan_
  std::string name_;
  Needs needs_;
  std::exception_ptr error_;
};

// The classes View and Plan of the module.
void bind_policy(nanobind::module_& module);

}  // namespace fairlead::python
