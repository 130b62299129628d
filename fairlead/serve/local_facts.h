// The facts of one machine for the answers to clients: the submissions, progress and idle GPUs of jobs, foreign
// processes, and the calendar.
#pragma once

#include "fairlead/live/backend_facts.h"
#include "fairlead/local/local_backend.h"

namespace fairlead {

class LocalFacts : public BackendFacts {
 public:
  // REQUIRES: the arguments outlive this.
  LocalFacts(Io& io, const Tables& tables, const LocalBackend& backend,
             const StartConditions& conditions)
      : io_(io), tables_(tables), backend_(backend), conditions_(conditions) {}

  std::int64_t unix_ms(Time t) const override { return io_.unix_ms(t); }
  std::string name_of(JobId job) const override;
  bool rests_in_place(JobId) const override { return true; }
  JobFacts of(JobId job, Time now) const override;
  std::span<const GpuProcess> foreign() const override { return backend_.gpus().foreign(); }
  Time end_of(const GpuProcess& foreign) const override {
    return backend_.gpus().notices().end_of(foreign);
  }
  std::string_view charged_user(const GpuProcess& foreign) const override {
    return backend_.gpus().charged_user(foreign);
  }
  std::vector<Outage> outages(Time now) const override;
  std::uint32_t gpus_max(std::string_view user) const override;
  std::vector<Group> groups() const override;
  std::vector<Reservation> reservations(Time now) const override;
  bool is_ending(JobId job) const override;
  std::string release_hint(JobId job) const override;

 private:
  Io& io_;
  const Tables& tables_;
  const LocalBackend& backend_;
  const StartConditions& conditions_;
};

}  // namespace fairlead
