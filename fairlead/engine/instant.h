// The effects of the events of an instant: news for the policy, and stops for the backend.
#pragma once

#include "fairlead/model/event.h"
#include "fairlead/model/step.h"

#include <vector>

namespace fairlead {

struct Instant {
  std::vector<Event> news;  // for the policy, in event order
  std::vector<Step> stops;  // of runs that ended without a decision of the policy

  void clear() {
    news.clear();
    stops.clear();
  }
  void add_news(EventKind kind, JobId job) { news.push_back({.kind = kind, .job = job}); }
  void add_news(EventKind kind, NodeId node) { news.push_back({.kind = kind, .node = node}); }
  void add_stop(JobId job, RunId run) {
    stops.push_back({.kind = Step::Kind::kStop, .job = job, .run = run});
  }
};

}  // namespace fairlead
