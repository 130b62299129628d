// One job's training as a player has it: its progress, at the speeds of model/speed and with the
// overheads of sim/costs. So the played and the simulated runs agree by construction.
//
// All times are simulated ones.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/speed.h"
#include "fairlead/model/step.h"
#include "fairlead/sim/costs.h"

#include <optional>
#include <string>
#include <vector>

namespace fairlead {

// The world of all jobs. The cluster must outlive the trainings.
struct TrainingWorld {
  Cluster cluster;
  SpeedTable models;
  std::string reference_gpu;  // reference of the work; empty: the model's fastest here
  NetworkOptions network;
  Costs costs;
  Duration checkpoint_interval = seconds(1800);
};

struct TrainingAsk {
  std::string model;
  std::uint32_t gpus = 1;  // GPUs of its gang
  Duration work;           // running time of that gang on the reference GPUs
};

class Training {
 public:
  // Error: no job can be like that.
  static Result<Training> make(const TrainingWorld& world, const TrainingAsk& ask);

  // Called when all of its pods run on that gang. REQUIRES: it does not train; `gang` is not empty.
  void begin(Time now, std::vector<Slice> gang);
  // Called when not all of them run any more. `saved`: they were asked to leave, so nothing is
  // lost; else all work since the last periodic checkpoint is lost. REQUIRES: it trains.
  void end(Time now, bool saved);
  bool trains() const { return begun_.has_value(); }

  // Returns the time at which its work is done if nothing else happens; never: it does not train,
  // or its speed is 0.
  Time done_at() const;
  // Returns the fraction of its work that is done, 0 to 1.
  double progress(Time now) const;
  // The place of the last begin().
  PlaceKind place() const { return place_; }
  Duration overhead() const { return overhead_; }
  Rate rate() const { return rate_; }

 private:
  Training(const TrainingWorld& world, Speed speed, Duration work)
      : world_(&world), speed_(std::move(speed)), work_{Int128{work.ms} * Rate::kOne} {}
  Work done_by(Time now) const;

  const TrainingWorld* world_;
  Speed speed_;
  Work work_;
  Work kept_{};  // before the last begin()
  std::optional<Time> begun_;
  std::vector<Slice> gang_;  // its present or last gang; empty: its state is on no node
  PlaceKind place_ = PlaceKind::kStart;
  Duration overhead_;
  Rate rate_;
};

}  // namespace fairlead
