// The audit: recomputes what a run did from the journal alone, and reports inconsistencies. It shares
// no state with the engine, and never aborts: a damaged journal is a finding, not a bug.
//
// It is two: the life cycle of jobs and the capacity of nodes (life_cycle_audit.h), which hold in
// every world; and the work that was done (work_audit.h), which is exact only where the world is, as
// in the simulator.
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

  // What is wrong, in journal order; the first kMax of problem_count(). Empty: nothing.
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
