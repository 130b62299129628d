// The trace of a SimIo: a line for each call that changes something, and for each event that the daemon receives, with the
// time in milliseconds and the number of calls before. Without a sink it costs nothing.
#pragma once

#include "fairlead/io/sim_agenda.h"
#include "fairlead/io/sim_calls.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

namespace fairlead {

class SimTrace {
 public:
  // REQUIRES: the arguments outlive this.
  SimTrace(const SimAgenda& agenda, const SimCalls& calls) : agenda_(agenda), calls_(calls) {}

  void set_sink(std::function<void(const std::string&)> sink) { sink_ = std::move(sink); }
  // `text`: returns the line.
  template <class Text>
  void add(const Text& text) const {
    if (sink_) sink_(fmt::format("{:>9} {:>6} {}", agenda_.now().ms, calls_.count(), text()));
  }

 private:
  const SimAgenda& agenda_;
  const SimCalls& calls_;
  std::function<void(const std::string&)> sink_;
};

}  // namespace fairlead
