// MeasuredRates: the speeds of models as measured on the gangs that their jobs held.
//
// A rate is that of one job on one gang, relative to the job's reference. It counts for all jobs of
// its profile (model/known_speed.h) on that GPU type, per GPU and relative to the size that each
// asks for: their reference gangs are taken to be equally fast per GPU, which is exact among jobs
// that ask for the same size.
//
// A gang that was never measured has the per-GPU rate of the next smaller measured size, or of the
// smallest (the rule of Speed's table), at the nearest tier that was measured at that size, the
// narrower of two. It is not scaled, as what a tier costs was not measured. A tier narrower than all
// that were is worth a try: it has at least the rate of gangs of which nothing was measured, 1 for as
// many GPUs as the job asks for.
//
// Ours. rate: O(sizes x tiers measured). The rest: O(log holds). Memory: 48 bytes per job.
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

// What is measured: gangs of one size on one GPU type for one profile.
struct MeasuredGang {
  std::size_t row = 0;  // of the profile and type
  std::uint32_t gpus = 0;
  Tier tier = Tier::kPair;
  std::uint32_t asked = 0;  // by the job that holds it
};

class MeasuredRates {
 public:
  // A rate is measured once its hold has worked for `length`. It is forgotten once it is older than
  // `age`; none: never.
  MeasuredRates(Duration length, std::optional<Duration> age) : length_(length), age_(age) {}

  // Of such a gang, for a job that asks for `gang.asked`; nullopt where nothing was measured on that
  // row.
  std::optional<Rate> rate(const MeasuredGang& gang) const;
  // The most that a GPU did in any gang that was measured on that row, as the rate of a job that asks for
  // one; 0 where nothing was.
  double best_per_gpu(std::size_t row) const;
  // The rows of which an answer may have changed since this was last asked.
  std::vector<std::size_t> take_changed() { return std::exchange(changed_, {}); }
  // Rises whenever an answer of rate() may have changed.
  std::uint64_t revision() const { return revision_; }

  // The clock: what was due up to `now` is measured, or forgotten.
  void set_now(Time now);
  // The job holds a gang, and is said to run at that rate; 0: it is not said. Nothing is learnt
  // where the gang is none, or where this is called again for a further copy: their rates cannot be
  // told apart.
  void on_hold(JobId job, const std::optional<MeasuredGang>& gang, Rate rate);
  // It works from now + overhead.
  void on_start(JobId job, Duration overhead);
  // It says how fast it runs; 0: it does not know.
  void on_rate(JobId job, Rate rate);
  void on_hold_end(JobId job);

 private:
  struct Hold {
    MeasuredGang gang;
    Rate rate;
    Time due = Time::never();  // when it has worked for length_
    bool is_on = false;
    bool counts = false;
    bool is_measured = false;
  };
  struct Seen {
    std::uint32_t gpus;
    Tier tier;
    std::uint32_t asked = 0;
    Rate rate{};
    std::uint32_t holds = 0;  // that measure it now
    Time last{};              // when it was measured last; while there are none
  };
  using Measured = std::vector<Seen>;  // by size, then tier
  // When a rate is to be forgotten, of what row, size and tier.
  using End = std::tuple<Time, std::size_t, std::uint32_t, Tier>;
  template <class T>
  using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;

  Seen& entry(const MeasuredGang& gang);
  void measure(Hold& hold);
  void forget(const End& end);
  void change(std::size_t row);

  const Duration length_;
  const std::optional<Duration> age_;
  Time now_;
  std::uint64_t revision_ = 0;
  std::vector<std::size_t> changed_;
  std::vector<Measured> rows_;
  IdVector<JobId, Hold> holds_;
  Earliest<std::pair<Time, JobId>> due_;
  Earliest<End> ends_;
};

}  // namespace fairlead
