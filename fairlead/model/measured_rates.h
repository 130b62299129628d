// MeasuredRates: the speeds of models, measured on the gangs of their jobs.
//
// A rate is measured for one job on one gang, relative to the job's reference. It counts for all jobs of the profile
// (model/known_speed.h) on that GPU type, per GPU and relative to each job's requested size. This assumes that their
// reference gangs are equally fast per GPU, which is exact for jobs that request the same size.
//
// An unmeasured gang has the per-GPU rate of the next smaller measured size, or of the smallest (the rule of Speed's
// table). The tier is the nearest one that was measured at that size, the narrower of two. The rate is not scaled,
// because the cost of a tier was not measured. A tier narrower than all measured tiers is worth a try: it has at least
// the rate of a gang without any measurement, which is 1 for the number of GPUs that the job requests.
//
// A measurement is the stay of one job on such gangs, over all of its turns there. The confidence in a rate grows with
// the number of the last measurements in a row that agree.
//
// Ours. rate: O(sizes x tiers measured). forget_row: O(jobs). The rest: O(log runs). Memory: 56 bytes per job.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlead {

// The key of a measurement: gangs of one size on one GPU type for one profile.
struct MeasuredGang {
  std::size_t row = 0;  // row of the profile and type
  std::uint32_t gpus = 0;
  Tier tier = Tier::kPair;
  std::uint32_t asked = 0;  // number of GPUs that the job requests
  // Returns whether measurements of the two gangs have one entry.
  bool is_alike(const MeasuredGang& other) const {
    return row == other.row && gpus == other.gpus && tier == other.tier;
  }
};

// The rate of gangs of one size and tier, and the measurements behind it.
struct MeasuredRate {
  std::uint32_t gpus = 0;
  Tier tier = Tier::kPair;
  std::uint32_t asked = 0;
  Rate rate{};                     // the last measurement
  std::uint32_t measurements = 0;  // so far
  std::uint32_t agreeing = 0;      // the last measurements in a row that differ by at most a tenth
  Time last{};                     // the end of the last measurement; now, if it goes on

  // Returns the speed of `of` GPUs, with the same rate per GPU, for a job that requests `by` GPUs.
  double speed(std::uint32_t of, std::uint32_t by) const {
    return rate.value() * ((static_cast<double>(of) * asked) / (static_cast<double>(gpus) * by));
  }
};

class MeasuredRates {
 public:
  // A rate is measured after the job's run has worked for `length`. It is forgotten when it is older than `age`; none:
  // never.
  MeasuredRates(Duration length, std::optional<Duration> age) : length_(length), age_(age) {}

  // Returns the rate of such a gang for a job that requests `gang.asked` GPUs; nullopt if the row has no measurement.
  std::optional<Rate> rate(const MeasuredGang& gang) const;
  // Returns the measurement on which rate() is based; nullopt if the row has none.
  std::optional<MeasuredRate> nearest(const MeasuredGang& gang) const;
  // Returns the highest rate per GPU of all gangs that were measured on that row, for a job that requests one GPU; 0 if
  // there is none.
  double best_per_gpu(std::size_t row) const;
  // Returns the rates of a row, by size and tier.
  std::vector<MeasuredRate> of_row(std::size_t row) const;
  // Returns whether the row has a rate, or will hardly get one: a run works on it now, or runs worked for a minute, and
  // nothing measured them.
  bool is_tried(std::size_t row) const;
  // Forgets the rates of a row. Runs that go on are measured again. Returns false if there are none.
  bool forget_row(std::size_t row);
  // Takes over a rate that an earlier run has measured, if the row has no later one of such gangs. It is forgotten
  // `age` after its last measurement, as if it had been measured here.
  void learn(std::size_t row, const MeasuredRate& rate);
  // Returns the rows with possibly changed rates since the last call.
  std::vector<std::size_t> take_changed() { return std::exchange(changed_, {}); }
  // Returns a number that rises whenever a result of rate() may have changed.
  std::uint64_t revision() const { return revision_; }

  // Sets the clock, and measures or forgets all rates that are due by `now`.
  void set_now(Time now);
  // Called when the job gets a gang, with the reported rate; 0: unknown. Nothing is measured if `gang` is none, or if
  // this is called again for another copy, because the copies' rates cannot be separated.
  void on_run_begin(JobId job, const std::optional<MeasuredGang>& gang, Rate rate);
  // Called when the gang has started; it works from now + overhead.
  void on_start(JobId job, Duration overhead);
  // Called when the job reports its rate; 0: unknown.
  void on_rate(JobId job, Rate rate);
  void on_run_end(JobId job);

 private:
  struct JobRun {
    MeasuredGang gang;
    Rate rate;
    Time since = Time::never();  // it works
    Time due = Time::never();    // end of the first length_ of work
    bool is_on = false;
    bool counts = false;
    bool is_measured = false;
    bool is_counted = false;  // this run, or the job's last run, was a measurement of such gangs
  };
  // The runs on a row, whether they were measured or not.
  struct Trial {
    Duration worked;       // working time of ended runs
    std::uint32_t on = 0;  // number of present runs
  };
  struct Seen : MeasuredRate {     // `last` is set only if `runs` is 0
    std::uint32_t runs = 0;        // number of runs that measure it now
    JobId latest = JobId::none();  // the job of the last measurement
    Rate before{};                 // the measurement before the last one
    std::uint32_t agreeing_before = 0;
  };
  using Measured = std::vector<Seen>;  // by size, then tier
  // The time to forget a rate, with its row, size and tier.
  using End = std::tuple<Time, std::size_t, std::uint32_t, Tier>;
  template <class T>
  using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;

  Seen& entry(const MeasuredGang& gang);
  Trial& trial(std::size_t row);
  void measure(JobId job, JobRun& run);
  static void count(JobId job, JobRun& run, Seen& seen);
  void forget(const End& end);
  void change(std::size_t row);

  const Duration length_;
  const std::optional<Duration> age_;
  Time now_;
  std::uint64_t revision_ = 0;
  std::vector<std::size_t> changed_;
  std::vector<Measured> rows_;
  std::vector<Trial> trials_;  // by row
  IdVector<JobId, JobRun> runs_;
  Earliest<std::pair<Time, JobId>> due_;
  Earliest<End> ends_;
};

}  // namespace fairlead
