// The tables of a daemon as JSON for its clients, with units in the names of fields (docs/openapi.yaml). Every daemon
// answers with these, so equal states have equal answers.
#pragma once

#include "fairlead/http/prometheus.h"
#include "fairlead/live/backend_facts.h"
#include "fairlead/live/job_book.h"
#include "fairlead/live/live_engine.h"

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead {

// The number of each node's first GPU on its host.
using FirstOnHost = IdVector<NodeId, std::uint32_t>;
// Returns these numbers: a host numbers its GPUs node by node. O(nodes).
FirstOnHost first_gpus_on_host(const Cluster& cluster);

// Returns GPU time by user, model and GPU type (docs/openapi.yaml).
nlohmann::json usage_json(const Tables& tables, const UsageBook::Times& times);

// Returns the cause by which a process of backend.foreign() is foreign, and its effect, after its name: "is not a Fairlead
// job, and is ended in 4m 55s".
std::string foreign_remark(const BackendFacts& backend, const GpuProcess& process, Time now);

// Returns "4 V100 GPUs are reserved for ann (reservation 3), for 2h 5m more". `unix_ms`: the present.
std::string reservation_text(const BackendFacts::Reservation& one, std::int64_t unix_ms);

struct Views {
  // REQUIRES: `live` has an engine; the arguments outlive this; `book` gets every record.
  Views(const BackendFacts& facts, const LiveEngine& live)
      : backend(facts),
        tables(live.engine().tables()),
        speeds(live.engine().speeds()),
        book(tables, facts),
        policy(live.policy().name()),
        policy_options(live.policy_options()),
        traits(live.policy().traits()) {}

  const BackendFacts& backend;
  const Tables& tables;
  const KnownSpeed& speeds;
  JobBook book;
  const std::string policy;
  const std::string policy_options;
  const PlacementTraits* const traits;  // traits of the policy; null: PlacementTraits()

  // `now`: the time of the answer.
  nlohmann::json cluster(Time now) const;
  // Returns the jobs of `user`, or of all users if it is empty. Ended jobs are included if `all`. O(jobs + nodes).
  nlohmann::json jobs(Time now, std::string_view user, bool all) const;
  // O(nodes).
  nlohmann::json job(JobId job, Time now) const;
  // O((users + jobs) log users).
  nlohmann::json users(Time now) const;
  // Returns the GPU time of the last `span`, by user, model and GPU type (UsageBook::between).
  nlohmann::json usage(Time now, Duration span) const;
  // Adds the family about GPUs that are out of service. O(GPUs).
  void add_gpu_metrics(PrometheusText& text, Time now) const;
  // Returns the learned speeds of models (KnownSpeed::learned). O(speeds).
  nlohmann::json models() const;
  // Returns the reservations of GPUs. O(reservations).
  nlohmann::json reservations(Time now) const;
  // Adds the family about reserved GPUs. O(reservations).
  void add_reservation_metrics(PrometheusText& text, Time now) const;
  // Adds the number of decisions that were cut. O(1).
  void add_decision_metrics(PrometheusText& text) const;
  // Adds the families about users: GPU time, entitlement, GPUs in use. Costs as users().
  void add_user_metrics(PrometheusText& text, Time now) const;

 private:
  struct Gpus;
  nlohmann::json node(NodeId node, const Gpus& gpus) const;
  nlohmann::json job(JobId job, Time now, const FirstOnHost& first) const;
  nlohmann::json foreign_on(std::uint32_t gpu, Time now) const;
};

}  // namespace fairlead
