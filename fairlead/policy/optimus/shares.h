// The number of GPUs of each job by marginal gain (Optimus, EuroSys 2018, section 4.1).
//
//  1. Every job gets its smallest gang, in increasing order of that (ties in input order), as
//     long as there is room: on the type on which the job then has the least time left, the
//     first of equals. Leaving its present type costs a job a restart.
//  2. Step by step the job whose time left falls most per GPU gets more GPUs of its type, until
//     no job gains (ties in input order). A step is one task. If that would not help, it goes up to
//     the next better size: tables need not be monotone, and some sizes do not run at all. Every
//     gang except the present one costs a job a restart, so a job with little to gain keeps its
//     gang. (ours)
//
// So while GPUs of a type are left, no job of the type would gain by them. With one type, and gains
// that fall with every GPU given, no other division has a smaller sum of times left. This is about
// the GPUs beyond the smallest gangs.
//
// The paper counts workers and parameter servers; here each GPU stands for one of both.
#pragma once

#include "fairlead/model/cluster.h"

#include <cstdint>
#include <functional>
#include <span>

namespace fairlead {

struct ElasticJob {
  std::uint32_t gpus_min = 1;   // at least 1
  std::uint32_t gpus_max = 1;   // at least gpus_min
  std::uint32_t task_gpus = 1;  // gangs are multiples of it
  TypeMask types = 0;           // that run gpus_min GPUs
  std::uint32_t allocated = 0;  // its present GPUs, of allocated_type
  GpuTypeId allocated_type{};
  // The outcome; 0 GPUs: it waits.
  std::uint32_t gpus = 0;
  GpuTypeId type{};
};

// Returns the time left of a job, by its place in the span, with that many GPUs of that type. In
// any unit and without a restart; infinite if such a gang does not run.
using TimeLeft = std::function<double(std::size_t job, GpuTypeId type, std::uint32_t gpus)>;

// Fills in the outcome of every job. `left`: GPUs per type to be divided, present gangs included;
// on return the remaining ones. `restart`: its cost, in the unit of the times. O(jobs log jobs +
// GPUs log jobs + the sizes tried, each once per job).
void share_by_gain(std::span<ElasticJob> jobs, std::span<std::uint32_t> left,
                   const TimeLeft& time_left, double restart);
// Does the same, but a step goes to the job with the fewest GPUs among the jobs that gain by one
// (ties in input order): equal shares, as far as they help.
void share_equally(std::span<ElasticJob> jobs, std::span<std::uint32_t> left,
                   const TimeLeft& time_left, double restart);

}  // namespace fairlead
