// The HTTP status endpoint of the Kubernetes scheduler, in plain words and as metrics.
//
//   /healthz              200: it runs
//   /readyz               200: it leads or follows, and its cache is synced; else 503 and why
//   /metrics              Prometheus' text
//   /why/NAMESPACE/JOB    why the Job waits, or where it runs, a line each; 404: there is none
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/explain/why_now.h"
#include "fairlead/http/http.h"
#include "fairlead/http/prometheus.h"
#include "fairlead/journal/journal.h"
#include "fairlead/kube/counted_door.h"
#include "fairlead/kube/lease.h"
#include "fairlead/pods/pods_world.h"
#include "fairlead/policy/policy.h"

#include <map>
#include <string>

namespace fairlead {

class Outlook : public RecordSink {
 public:
  // The arguments passed by reference must outlive this object.
  Outlook(CountedDoor& door, const Lease& lease, std::string identity, std::string policy);
  // Sets the world and tables with which it leads; follow() clears them.
  void lead(const PodsWorld& world, const Tables& tables, const Policy& policy);
  void follow();

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
  void put_leadership(PrometheusText& text) const;
  void put_server(PrometheusText& text) const;
  void put_gpus(PrometheusText& text) const;
  void put_gangs(PrometheusText& text) const;
  void put_users(PrometheusText& text) const;

  CountedDoor& door_;
  const Lease& lease_;
  const std::string identity_;
  const std::string policy_;
  const PodsWorld* world_ = nullptr;
  const Tables* tables_ = nullptr;
  const Policy* scheduler_ = nullptr;
  PresentWaits waits_;
  std::map<UserId, GpuTime> served_;  // GPU time of ended jobs
  PrometheusText::Histogram decisions_;
  PrometheusText::Histogram binds_;
  PrometheusText::Histogram starts_;
};

}  // namespace fairlead
