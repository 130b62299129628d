// A golden case: a small cluster, a policy, a few jobs, and everything that must happen, as text.
//
//   # What it shows, in a sentence or two.
//   cluster  2xV100:4 | 2xV100:4        shorthand; racks are separated by '|'
//   policy   tiresias:limits=3600
//   outage   n1  10s  30s               optional: a node that fails and comes back
//   until    9m                         optional: the clock stops there
//   show     pass                       optional: the passes of jobs, in quanta, on change
//   show     trades                     optional: who sells GPUs of a type to whom, and the price
//   job      a  gpus 4  arrive 0s     work 2h
//   job      b  gpus 4  arrive 1h10m  work 10m  user ben  tickets 2  model VAE
//   expect                              UPDATE_GOLDEN=1 rewrites what is below this line
//     0s     a  place  n0:4
//     4200s  a  stop
//
// Times are numbers with a unit, h, m, s or ms, and sums of those. Jobs that name no user are those
// of one. Nothing costs anything, and a job that loses its gang with a node keeps its work.
#pragma once

#include "fairlead/base/result.h"
#include "testing/world.h"

#include <filesystem>
#include <string>
#include <vector>

namespace fairlead {

struct Case {
  std::string head;  // the file up to and with the line "expect"
  World world;
  std::string policy;
  bool shows_passes = false;
  bool shows_trades = false;
  std::vector<std::string> job_names;
  std::vector<std::string> expected;  // lines of a timeline, without indent
};

// Errors name file and line.
Result<Case> read_case(const std::filesystem::path& path);

// What happens, one line per event that a reader cares about.
std::vector<std::string> timeline(const Case& golden);

// The text of a case file with that timeline.
std::string with_timeline(const Case& golden, const std::vector<std::string>& lines);

}  // namespace fairlead
