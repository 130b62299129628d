// The status endpoint of the Kubernetes scheduler: GET only, over HTTP.
//
//   /healthz              200: it runs
//   /readyz               200: it leads or follows, and its cache is synced; else 503 and why
//   /metrics              Prometheus' text
//   /why/NAMESPACE/JOB    why the Job waits, or where it runs, a line each; 404: there is none
//   /v1/...               the JSON of every daemon (live/queries.h); 503 on a process that does not lead
#pragma once

#include "fairlead/engine/recovery.h"
#include "fairlead/explain/why_now.h"
#include "fairlead/http/http.h"
#include "fairlead/http/prometheus.h"
#include "fairlead/kube/counted_door.h"
#include "fairlead/kube/lease.h"
#include "fairlead/live/live_engine.h"
#include "fairlead/live/views.h"
#include "fairlead/pods/pods_world.h"

#include <optional>
#include <string>
#include <vector>

namespace fairlead {

class Outlook : public RecordSink, private BackendFacts {
 public:
  // The arguments passed by reference must outlive this object.
  Outlook(CountedDoor& door, const Lease& lease, std::string identity, std::string policy);
  // Sets the world and the engine with which it leads. `run`: the records from which the engine was
  // recovered. REQUIRES: the world, the engine and its policy outlive the next follow().
  void lead(const PodsWorld& world, const LiveEngine& live, const RecordedRun& run);
  void follow() { leading_.reset(); }

  std::string answer(const HttpMessage& request) const;
  // The parts of the answers.
  std::string not_ready() const;  // the reason; empty: it is ready
  std::string metrics() const;
  // Returns nothing if Fairlead has no such Job.
  std::string why(const std::string& name_space, const std::string& job) const;
  // Returns everything known about a present job, a line each. REQUIRES: this process leads.
  std::vector<std::string> why_lines(JobId job) const;
  // Returns the causes of all waits now. REQUIRES: this process leads.
  WhyNow why_now() const;

  void on(const Record& record) override;
  // Called after a decision of the engine that took that time.
  void on_decision(double seconds) { decisions_.add(seconds); }
  // Called when a pod was bound, that long after its gang was placed.
  void on_bound(Duration after) { binds_.add(to_seconds(after)); }

 private:
  struct Leading {
    const PodsWorld& world;
    Views views;
  };

  std::int64_t unix_ms(Time t) const override;
  std::string name_of(JobId job) const override;
  bool rests_in_place(JobId job) const override;
  JobFacts of(JobId job, Time now) const override;

  // Returns the engine's time, which may be some milliseconds ahead of the world's.
  Time now() const;
  std::string json(const HttpMessage& request) const;
  void put_leadership(PrometheusText& text) const;
  void put_server(PrometheusText& text) const;
  void put_gpus(PrometheusText& text) const;
  void put_gangs(PrometheusText& text) const;

  CountedDoor& door_;
  const Lease& lease_;
  const std::string identity_;
  const std::string policy_;        // with its options
  std::optional<Leading> leading_;  // none: it follows
  PrometheusText::Histogram decisions_;
  PrometheusText::Histogram binds_;
  PrometheusText::Histogram starts_;
};

}  // namespace fairlead
