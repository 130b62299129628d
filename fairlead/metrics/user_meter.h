// Users and their groups: the GPUs that they are entitled to, and the service that they receive, in all time and in
// contended time (metrics/contended_time.h).
//
// A user's entitlement in time that is not contended is its demand. So its entitlement in contended time is the
// difference of two integrals.
//
// O(log users) per change of a demand, O(log changes) between contended and other time per service, otherwise O(1).
// Source: ours.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/journal/record.h"
#include "fairlead/metrics/contended_time.h"
#include "fairlead/metrics/job_table.h"
#include "fairlead/metrics/run_facts.h"
#include "fairlead/metrics/summary.h"
#include "fairlead/solve/share_meter.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

class UserMeter {
 public:
  void reserve(std::size_t jobs) { contended_work_ms_.reserve(jobs); }
  void add_group(const record::Group& group);
  void add_user(const record::User& user);
  void set_tickets(Time now, const record::Tickets& tickets);
  void set_gpus(Time now, std::int64_t gpus) { shares_.set_gpus(now, gpus); }
  // Counts a job of the user, also one that never asks for GPUs.
  void count_job(UserId user) { ++users_[user].jobs; }
  // Lets time pass from `from` on. Called before the first change at its end.
  void advance(Time from) { contended_.set(from, shares_.any_short()); }
  // Adds to the number of GPUs that the user asks for.
  void add_demand(Time now, UserId user, std::int64_t gpus);
  // Adds the service of a job up to `now`, and takes back the work of its last `lost`.
  void add_service(Time now, UserId user, JobId job, const Service& service, Duration lost);

  const ShareMeter& shares() const { return shares_; }
  const std::vector<std::string>& names() const { return names_; }
  // Adds the users and groups to a summary, and the figures of fairness that follow from their shares. O(jobs + users).
  void fill(Time end, const JobTable& jobs, const RunFacts& facts, Summary& summary) const;

 private:
  struct User {
    std::int64_t tickets = 1;
    GroupId group{};
    std::int64_t jobs = 0;
    GpuTime allocated;
    double contended_useful_ms = 0;
    std::int64_t demand = 0;
    // The entitlement in time that is not contended, up to the last change of the demand.
    double uncontended_entitled_ms = 0;
    Duration uncontended_before;
  };
  struct Group {
    std::string name;
    std::int64_t tickets = 1;
    std::int64_t quota = 0;
  };

  Duration uncontended(Time now) const { return now - Time{} - contended_.up_to(now); }
  double uncontended_entitled_ms(Time now, const User& user) const;
  double contended_part(Time now, Duration time) const;
  void add_users(Time end, const JobTable& jobs, const RunFacts& facts, Summary& summary) const;
  void add_groups(Summary& summary) const;

  std::vector<std::string> names_;
  IdVector<UserId, User> users_;
  IdVector<GroupId, Group> groups_;
  ShareMeter shares_;
  ContendedTime contended_;
  IdVector<JobId, double> contended_work_ms_;  // work of the gang asked for, at speed 1
};

}  // namespace fairlead
