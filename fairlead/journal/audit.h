// The audit: recomputes a run from the journal alone, and reports inconsistencies. It shares no state
// with the engine, and never aborts: a damaged journal is a finding, not a bug.
//
// The audit has two parts. life_cycle_audit.h checks the life cycle of jobs and the capacity of nodes,
// in every world. work_audit.h checks the work done, and is exact only in an exact world, such as the
// simulator.
//
// O(slices) per record.
#pragma once

#include "fairlead/journal/audit_problems.h"
#include "fairlead/journal/life_cycle_audit.h"
#include "fairlead/journal/work_audit.h"

namespace fairlead {

class Audit : public RecordSink {
 public:
  void on(const Record& record) override {
    work_.on(record);
    life_cycle_.on(record);
  }

  // Returns the first kMax of problem_count() inconsistencies, in journal order. Empty: there is none.
  const std::vector<std::string>& problems() const { return problems_.texts(); }
  std::int64_t problem_count() const { return problems_.count(); }
  // True once the end record came and nothing was wrong.
  bool passed() const { return life_cycle_.ended() && problems_.count() == 0; }

 private:
  AuditProblems problems_;
  WorkAudit work_{problems_};
  LifeCycleAudit life_cycle_{problems_};
};

}  // namespace fairlead
