// The sensors of a task's speed, best first: its script reports progress, the hook counts optimizer steps (python/hook),
// and its programs print steps. Each has a meter of its own, because each counts other units.
#pragma once

#include "fairlead/io/io.h"
#include "fairlead/measure/driver_load.h"
#include "fairlead/measure/meter.h"
#include "fairlead/measure/output_meter.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

enum class Sensor : std::uint8_t { kReports, kHook, kOutput };
inline constexpr const char* kSamples = "samples";  // the unit
inline constexpr std::array<Sensor, 3> kSensors = {Sensor::kReports, Sensor::kHook,
                                                   Sensor::kOutput};
// "reports", "hook", "output": the names in the API.
std::string_view sensor_name(Sensor sensor);
// "its progress reports", "its optimizer steps", "its output".
std::string_view sensor_text(Sensor sensor);

class Sensors {
 public:
  // Notes that the task works from `now` on; pause(): it stops.
  void run(Time now);
  void pause(Time now);
  // Reads the reports of a task; output_next(): the byte of the output from which they are needed.
  void look(Time now, const TaskReports& reports);
  std::uint64_t output_next() const { return output_.next(); }

  struct Speed {
    Sensor sensor = Sensor::kReports;
    double unit_per_s = 0;
    std::string unit;  // "steps"
  };
  // Returns the speed by the best sensor that has measured one.
  std::optional<Speed> speed() const;
  // Returns the speed by one sensor. The hook's is in samples of all workers if the batch size is known: workers that
  // join with batches of their own make no more steps.
  std::optional<Speed> speed(Sensor sensor) const;
  // Returns the same in the units of the sensor's reports: in steps for the hook.
  std::optional<double> rate(Sensor sensor) const;
  // Adds a look of the driver at one of its GPUs. The load is never a speed.
  void add_load(int busy_percent, int power_w);
  const DriverLoad& driver_load() const { return driver_load_; }

  struct Done {
    Progress progress;
    double unit_per_s = 0;  // 0: not known yet
  };
  // Returns the progress in the units of one sensor: the script's reports, if there are any; else the best sensor that
  // knows the total, or else the best one.
  std::optional<Done> done() const;
  // Returns the progress of the whole job, all its tasks included, once the speed of the task is known: by reports, or
  // by an output with a total. The hook counts the steps of one task.
  std::optional<Progress> of_job() const;

 private:
  std::optional<Progress> last(Sensor sensor) const;

  Meter reports_, hook_;
  double samples_ = 0;  // in a step of the hook, all workers together; 0: not known
  OutputMeter output_;
  DriverLoad driver_load_;
};

}  // namespace fairlead
