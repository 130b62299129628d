#include "fairlead/explain/why_cause.h"

#include <algorithm>

namespace fairlead {
namespace {

// Indexed by cause.
constexpr std::array<WhyCauseInfo, kWhyCauses> kInfos = {{
    {"full", "GPUs it can use were with jobs that came first",
     "jobs that came first have GPUs that it can use"},
    {"passed", "jobs that came later went first", "jobs that came later went first"},
    {"share", "its user had its share, so others went first",
     "its user has its share, so others go first"},
    {"scattered", "enough GPUs were free, but too scattered",
     "enough GPUs are free, but too scattered"},
    {"cpu", "GPUs were free, but on nodes with too little cpu",
     "GPUs are free, but on nodes with too little cpu"},
    {"memory", "GPUs were free, but on nodes with too little memory",
     "GPUs are free, but on nodes with too little memory"},
    {"reserved", "GPUs were free, but reserved for others",
     "GPUs are free, but reserved for others"},
    {"kept", "it fitted; GPUs were kept for a larger job",
     "it fits; GPUs are kept for a larger job"},
    {"round", "it fitted, and waited for the next round", "it fits, and waits for the next round"},
    {"timer", "it still waited for GPUs nearer together",
     "it still waits for GPUs nearer together"},
    {"home", "others had their turn on the GPUs it is kept on",
     "others have their turn on the GPUs it is kept on"},
    {"turn", "others had their turn, one at a time", "others have their turn, one at a time"},
    {"quota", "its group had all the GPUs of its quota", "its group has all the GPUs of its quota"},
    {"down", "GPUs that it needed were down", "GPUs that it needs are down"},
    {"retry", "its start had failed, and was tried again later",
     "its last start failed, and is tried again later"},
    {"held", "its user, a condition or a limit held it back", "its user holds it"},
    {"never", "no part of the cluster is large enough for it",
     "no part of the cluster is large enough for it"},
    {"unexplained", "it fitted, and the journal does not show why it did not run",
     "it fits, and its policy has not started it"},
}};

}  // namespace

const WhyCauseInfo& why_cause_info(WhyCause cause) {
  return kInfos[static_cast<std::size_t>(cause)];
}

Duration CauseTimes::total() const {
  Duration total;
  for (Duration time : times) total += time;
  return total;
}

WhyCause CauseTimes::main() const {
  return static_cast<WhyCause>(std::ranges::max_element(times) - times.begin());
}

double CauseTimes::explained() const {
  const Duration all = total();
  if (all.ms == 0) return 1;
  return 1 - to_seconds(of(WhyCause::kUnexplained)) / to_seconds(all);
}

CauseTimes& CauseTimes::operator+=(const CauseTimes& more) {
  for (std::size_t i = 0; i < times.size(); ++i) times[i] += more.times[i];
  return *this;
}

}  // namespace fairlead
