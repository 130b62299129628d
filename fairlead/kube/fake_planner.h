// The acts of fake controllers, at virtual times after drawn delays. While the controllers cannot reach the server, acts
// wait until they can.
#pragma once

#include "fairlead/base/rng.h"
#include "fairlead/base/units.h"
#include "fairlead/kube/fake_agenda.h"

#include <cstdint>
#include <functional>
#include <utility>

namespace fairlead {

// 2026-01-01, the calendar's time 0 of fake worlds.
constexpr std::int64_t kFakeEpochMs = 1'767'225'600'000;

// The least and the largest delay; each delay is drawn uniformly between them.
struct FakeDelay {
  Duration least;
  Duration most;
};

struct FakeDelays {
  FakeDelay call = {milliseconds(1), milliseconds(10)};  // each way
  FakeDelay watch = {milliseconds(1), milliseconds(20)};
  FakeDelay controller = {milliseconds(5), milliseconds(50)};
  FakeDelay admit = {milliseconds(10), milliseconds(100)};
  FakeDelay start = {milliseconds(300), milliseconds(1500)};
  FakeDelay stop = {milliseconds(20), milliseconds(300)};
  FakeDelay provision = {seconds(1), seconds(3)};
};

class FakePlanner {
 public:
  // REQUIRES: the agenda and the delays outlive this.
  FakePlanner(FakeAgenda& agenda, const FakeDelays& delays, const Rng& rng)
      : agenda_(agenda), delays_(delays), rng_(rng) {}

  Time now() const { return agenda_.now(); }
  std::int64_t unix_ms() const { return kFakeEpochMs + now().ms; }
  const FakeDelays& delays() const { return delays_; }
  Duration draw(FakeDelay delay) {
    const auto span = static_cast<std::uint64_t>((delay.most - delay.least).ms);
    return delay.least + Duration{static_cast<std::int64_t>(rng_.below(span + 1))};
  }
  // Returns an integer below `limit`.
  std::uint64_t below(std::uint64_t limit) { return rng_.below(limit); }

  void plan(Duration delay, std::function<void()> act) {
    agenda_.after(delay, [this, act = std::move(act)] {
      if (now() >= away_until_) return act();
      plan(away_until_ - now(), act);
    });
  }
  void plan(FakeDelay delay, std::function<void()> act) { plan(draw(delay), std::move(act)); }
  // Keeps controllers and kubelets from reaching the server until `t`.
  void stand_still_until(Time t) { away_until_ = t; }

 private:
  FakeAgenda& agenda_;
  const FakeDelays& delays_;
  Rng rng_;
  Time away_until_;
};

}  // namespace fairlead
