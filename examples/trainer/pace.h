// Emulates a GPU of a given speed by waiting, and reacts to SIGTERM while it waits.
#pragma once

#include <algorithm>
#include <csignal>
#include <ctime>

namespace trainer {

inline double now_s() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Pace {
 public:
  // A step of the process takes at least `step_s`.
  explicit Pace(double step_s) : step_s_(step_s) {}

  // Waits until the next step may start. Returns true after SIGTERM.
  bool is_interrupted() {
    const double now = now_s();
    owed_s_ = std::max(-kLeewayS, owed_s_ + step_s_ - (now - last_s_));
    last_s_ = now;
    timespec pause{};
    if (owed_s_ > kPauseS) {
      pause.tv_sec = static_cast<time_t>(owed_s_);
      pause.tv_nsec = static_cast<long>((owed_s_ - static_cast<double>(pause.tv_sec)) * 1e9);
    }
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    return sigtimedwait(&term, nullptr, &pause) == SIGTERM;
  }

 private:
  static constexpr double kPauseS = 0.002;  // shorter pauses are inexact
  static constexpr double kLeewayS = 0.05;  // the most lost time that is made up for

  double step_s_;
  double owed_s_ = 0;
  double last_s_ = now_s();
};

}  // namespace trainer
