// A golden case: a small cluster, a policy, a few jobs, and everything that must happen, as text.
//
//   # The purpose of the case, in a sentence or two.
//   cluster  2xV100:4 | 2xV100:4        shorthand; racks are separated by '|'
//   policy   tiresias:limits=3600
//   have     8/32 16/0                  optional: CPUs and GB of nodes, in order; 0 does not limit
//   outage   n1  10s  30s               optional: a node that fails and comes back
//   limit    qos normal  per user  gpus 8  jobs 2   optional: a limit; each part is optional
//   until    9m                         optional: the clock stops there
//   costs    start 10s  suspend 1s  resume 1s  checkpoint 2s/3s/4s  migrate 2s/3s/4s  exchange 7s
//   faults   mtbf 72s  mttr 18s  seed 5   optional: nodes fail at random
//   checkpoint  7s                      optional: work since then is lost with a node
//   seed     3                          optional: the seed of the policy
//   show     pass                       optional: the passes of jobs, in quanta, on change
//   show     trades                     optional: seller, buyer, GPU type and price of trades
//   job      a  gpus 4  arrive 0s     work 2h
//   job      b  gpus 4  arrive 1h10m  work 10m  user ben  tickets 2  model VAE  min 2  max 8  tasks 2
//   expect                              UPDATE_GOLDEN=1 rewrites everything below this line
//     0s     a  place  n0:4
//     4200s  a  stop
//
// `tasks` is the GPUs of each task; `copies` the most that it may train as; `require` and `prefer`
// name a level of the network. `cpus` and `memory` count for the whole gang. `limit` is the time that its user asked for; `started` (since 0s),
// `partition`, `qos` and `priority` are the values in a log. Times are numbers with a unit, h, m, s or ms,
// and sums of them. All jobs without a user belong to one user. A cost that `costs` leaves out is
// 0; a job that loses its gang with a node keeps its work unless `checkpoint` is set. tests/golden
// has the cases that must pass; a property that fails prints one (property.h).
#pragma once

#include "fairlead/base/result.h"
#include "testing/world.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct GoldenCase {
  std::string head;  // the file up to and with the line "expect"
  World world;
  std::string policy;
  bool shows_passes = false;
  bool shows_trades = false;
  std::vector<std::string> job_names;
  std::vector<std::string> expected;  // lines of a timeline, without indent
};

// Errors name file and line.
Result<GoldenCase> read_case(const std::filesystem::path& path);
// The same from text; `name` takes the file's place in errors.
Result<GoldenCase> parse_case(std::string_view text, std::string_view name);

// Returns the text of a case, up to and with "expect", of that world under that policy; `about`
// explains it. Read again, it gives the same run. REQUIRES: a case can express the costs and the
// network: only the costs named above, and a network that is not shared.
std::string case_text(const World& world, std::string_view policy, std::string_view about);

// Returns the events that a reader cares about, one per line.
std::vector<std::string> timeline(const GoldenCase& golden);

// The text of a case file with that timeline.
std::string with_timeline(const GoldenCase& golden, const std::vector<std::string>& lines);

}  // namespace fairlead
