// Plain versions of the policies: lists that are sorted and walked from front to back at every
// decision, like in the papers and the public simulators. They are slow and obvious, and the fast
// policies must give the same journals (reference_test.cc).
#pragma once

#include "fairlead/policy/kit/class_queue.h"
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/kit/queue_policy.h"
#include "fairlead/policy/policy.h"
#include "fairlead/policy/tiresias/tiresias.h"

#include <functional>
#include <memory>
#include <string_view>

namespace fairlead::reference {

// Returns a job's key now; the smallest comes first.
using Key = std::function<std::int64_t(const View&, JobId)>;

// A list stably sorted by key when jobs join it, served from the front, without preemption.
std::unique_ptr<Policy> plain_queue(Key key, OnMisfit on_misfit, Placement placement);

enum class Order : std::uint8_t { kStable, kByArrival };
// One list of all jobs, sorted by key at every decision; the first that fit run.
std::unique_ptr<Policy> plain_priority(Key key, Order order, Duration quantum, bool jobs_return,
                                       Placement placement);

// The Tiresias simulator's dlas schedules, demoting on time.
std::unique_ptr<Policy> plain_tiresias(TiresiasOptions options);

}  // namespace fairlead::reference
