#include "fairlead/pods/wait_teller.h"

#include "fairlead/pods/requests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace fairlead {
namespace {

constexpr Duration kPatience = seconds(10);
constexpr Duration kPause = seconds(60);  // between two tellings of one gang
constexpr std::size_t kWrites = 10;       // a second

}  // namespace

void WaitTeller::wake() {
  const Time now = door_.now();
  if (now < next_ || !world_.may_ask()) return;
  next_ = now + seconds(1);
  std::vector<JobId> waiting(tables_.waiting.members().begin(), tables_.waiting.members().end());
  for (const auto& [job, until] : tables_.held_until)
    if (!world_.order_text(job).empty()) waiting.push_back(job);
  std::ranges::sort(waiting);
  std::erase_if(
      told_, [&](const auto& entry) { return !std::ranges::binary_search(waiting, entry.first); });
  WhyNow why = outlook_.why_now();
  std::size_t writes = 0;
  for (JobId job : waiting) {
    Told& told = told_.try_emplace(job, Told{.since = now}).first->second;
    if (now < told.since + kPatience || now < told.next || writes >= kWrites) continue;
    const WhyCause cause = why.cause(job).cause;
    if (told.cause == cause) continue;
    told.cause = cause;
    told.next = now + kPause;
    writes += tell(job);
  }
}

std::size_t WaitTeller::tell(JobId job) {
  const GangBook::Entry* const entry = world_.observed().gangs().find(job);
  if (entry == nullptr) return 0;
  const std::string words = fmt::format("{}", fmt::join(outlook_.why_lines(job), " "));
  std::size_t writes = 0;
  for (const auto& [uid, pod] : entry->gang.pods()) {
    if (!pod.node.empty() || pod.is_leaving || pod.state != Pod::State::kPending) continue;
    door_.call(unschedulable(pod, words, door_.unix_ms()));
    ++writes;
  }
  if (writes > 0) return writes;
  world_.explain(job, "Waiting", words);
  return 1;
}

}  // namespace fairlead
