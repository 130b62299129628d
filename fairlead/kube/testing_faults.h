// Tests faults between a scheduler and a fake API server one by one: a run must have the same result
// under each of them.
//
// A run is a default-constructible class with `FakeServer server` and `std::string run()`, which returns
// the problem, or an empty text. FAIRLEAD_FAULT_STRIDE=N (default 1) tries one in N runs of each series.
#pragma once

#include "fairlead/kube/fake_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace fairlead {

inline constexpr std::array<FakeFault, 7> kFaults{{{.status = 409},
                                                   {.status = 410},
                                                   {.status = 429, .retry_after = seconds(3)},
                                                   {.status = 500},
                                                   {.kind = FakeFault::Kind::kLostRequest},
                                                   {.kind = FakeFault::Kind::kLostAnswer},
                                                   {.kind = FakeFault::Kind::kLate}}};

inline std::string text_of(const FakeFault& fault) {
  switch (fault.kind) {
    case FakeFault::Kind::kStatus:
      return fmt::format("answered by {}", fault.status);
    case FakeFault::Kind::kLostRequest:
      return "lost on the way there";
    case FakeFault::Kind::kLostAnswer:
      return "lost on the way back";
    case FakeFault::Kind::kLate:
      break;
  }
  return "late";
}

inline std::uint64_t fault_stride() {
  const char* text = std::getenv("FAIRLEAD_FAULT_STRIDE");
  return text == nullptr ? 1 : std::max<std::uint64_t>(std::strtoull(text, nullptr, 10), 1);
}

// Returns the number of calls of a run without faults.
template <class Run>
std::uint64_t calls_of_a_calm_run() {
  Run calm;
  const std::uint64_t before = calm.server.calls().size();
  EXPECT_EQ(calm.run(), "");
  return calm.server.calls().size() - before;
}

// Applies each of `faults` to one in `every` of the first `calls` calls, one fault per run.
template <class Run>
void try_faults(std::uint64_t every, std::uint64_t calls, std::span<const FakeFault> faults) {
  const std::uint64_t step = every * fault_stride();
  std::uint64_t row = 0;
  for (const FakeFault& fault : faults) {
    for (std::uint64_t k = 1 + row++ % step; k <= calls; k += step) {
      Run run;
      run.server.fail(k, fault);
      const std::string problem = run.run();
      const FakeCall& call = run.server.calls()[k - 1];
      EXPECT_EQ(problem, "") << "call " << k << " " << text_of(fault) << ": " << call.method << " "
                             << call.path;
    }
  }
}
template <class Run>
void try_faults(std::uint64_t every) {
  try_faults<Run>(every, calls_of_a_calm_run<Run>(), kFaults);
}

// Kills the scheduler after call `first`, or after a later one in steps of `every`, once per run; another
// scheduler continues. REQUIRES: run(k) does so after call k.
template <class Run>
void try_kills(std::uint64_t first = 1, std::uint64_t every = 1) {
  const std::uint64_t calls = calls_of_a_calm_run<Run>();
  for (std::uint64_t k = first; k <= calls; k += every * fault_stride()) {
    Run run;
    EXPECT_EQ(run.run(k), "") << "killed after call " << k;
  }
}

// Tries each outage, one per run, at each time from `first` to `end` in steps of `every`. The server is
// away for 20 s, or its streams end, break, become silent, or break while its history is forgotten.
template <class Run>
void try_outages(Duration first, Duration every, Duration end) {
  using Disturb = void (*)(FakeServer&);
  constexpr std::array<std::pair<std::string_view, Disturb>, 5> kOutages{
      {{"away", [](FakeServer& server) { server.go_away(seconds(20)); }},
       {"streams end", [](FakeServer& server) { server.end_streams(); }},
       {"streams break", [](FakeServer& server) { server.break_streams(); }},
       {"streams are silent", [](FakeServer& server) { server.silence_streams(); }},
       {"history is forgotten", [](FakeServer& server) {
          server.compact();
          server.break_streams();
        }}}};
  std::uint64_t number = 0;
  for (Time at = Time{} + first; at < Time{} + end; at = at + every) {
    for (const auto& [what, disturb] : kOutages) {
      if (number++ % fault_stride() != 0) continue;
      Run run;
      run.server.at(at, [&, disturb = disturb] { disturb(run.server); });
      EXPECT_EQ(run.run(), "") << what << " at " << to_seconds(at) << " s";
    }
  }
}

// Returns whether all Jobs of the batch API are complete.
inline bool all_jobs_done(FakeServer& server) {
  const FakeAnswer list = server.act("GET", "/apis/batch/v1/jobs");
  return std::ranges::all_of(json_at(list.body, {"items"}), [](const Json& job) {
    return text_at(item_at(job, {"status", "conditions"}, "type", "Complete"), {"status"}) ==
           "True";
  });
}

// Returns the reason if a kubelet refused a pod for lack of room, or cannot mount its volumes; empty: there is none.
inline std::string refusal(FakeServer& server) {
  const FakeAnswer list = server.act("GET", "/api/v1/pods");
  for (const Json& pod : json_at(list.body, {"items"})) {
    const std::string& reason = text_at(pod, {"status", "reason"});
    if (reason.starts_with("OutOf")) return "a kubelet refused a pod: " + reason;
    const bool is_bound = !text_at(pod, {"spec", "nodeName"}).empty();
    const bool is_leaving = !text_at(pod, {"metadata", "deletionTimestamp"}).empty();
    if (!is_bound || is_leaving) continue;
    if (std::string problem = server.cluster().volumes().problem(pod); !problem.empty())
      return problem;
  }
  return {};
}

}  // namespace fairlead
