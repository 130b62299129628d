#include "fairlead/pods/wait_teller.h"

#include "fairlead/pods/requests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace fairlead {
namespace {

constexpr Duration kPatience = seconds(5);
constexpr Duration kPause = seconds(60);  // between two tellings of one gang
constexpr std::size_t kWrites = 10;       // a second

}  // namespace

void WaitTeller::wake() {
  const Time now = door_.now();
  if (now < next_ || !world_.may_ask()) return;
  next_ = now + seconds(1);
  tell_pods(now, tell_jobs(now));
}

std::size_t WaitTeller::tell_jobs(Time now) {
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
  return writes;
}

void WaitTeller::tell_pods(Time now, std::size_t writes) {
  const std::map<std::string, std::string> refused = world_.refused_gangs();
  std::map<std::string, ToldPod> told;
  world_.observed().gangs().each_pod([&](const std::string& gang, const Pod& pod) {
    const bool waits = pod.node.empty() && !pod.is_leaving && !pod.is_over() && !pod.is_gated;
    if (!waits) return;
    std::string why = why_alone(gang, refused);
    if (why.empty()) return;
    const auto before = told_pods_.find(pod.uid);
    ToldPod& now_told = told[pod.uid];
    now_told = before == told_pods_.end() ? ToldPod{.since = now} : before->second;
    now_told.is_told = now_told.is_told && now_told.why == why;
    now_told.why = std::move(why);
    if (now_told.is_told || now < now_told.since + kPatience || writes >= kWrites) return;
    now_told.is_told = true;
    ++writes;
    door_.call(unschedulable(pod, now_told.why, door_.unix_ms()));
  });
  told_pods_ = std::move(told);
}

// Returns why a pod of the gang waits although no job does; empty: the gang's job waits, or it will get its node.
std::string WaitTeller::why_alone(const std::string& gang,
                                  const std::map<std::string, std::string>& refused) const {
  if (const auto why = refused.find(gang); why != refused.end())
    return fmt::format("It is refused: {}.", why->second);
  const GangBook::Entry* const entry = world_.observed().gangs().find(gang);
  if (entry == nullptr) return {};
  const bool runs = !entry->job.is_none() && tables_.jobs.has(entry->job) &&
                    tables_.jobs.state[entry->job] == JobState::kRunning;
  if (runs && !tables_.jobs.is_starting(entry->job))
    return "Its gang runs without it. It gets a node when the gang starts again.";
  const std::uint32_t absent = entry->gang.owner().absent;
  if (runs || absent == 0) return {};
  return fmt::format("It waits: {} of the pods of its gang {} not exist yet.", absent,
                     absent == 1 ? "does" : "do");
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
