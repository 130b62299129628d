#include "fairlead/local/foreign_notices.h"

#include <utility>

namespace fairlead {
namespace {

// Chosen: enough time to see the notice and to save some work, and little compared with a job.
constexpr Duration kNotice = seconds(300);
constexpr Duration kGrace = seconds(30);

}  // namespace

void ForeignNotices::update(Io& io, std::span<const GpuProcess> foreign,
                            const std::set<std::uint32_t>& exempt, Time now) {
  std::map<Key, Notice> notices;  // a process on several GPUs has one
  for (const GpuProcess& one : foreign) {
    if (one.is_root || exempt.contains(one.gpu)) continue;
    const Key key = key_of(one);
    const auto before = notices_.find(key);
    notices.emplace(key, before == notices_.end() ? Notice{now + kNotice} : before->second);
  }
  for (auto& [key, notice] : notices) {
    if (now < notice.ends) continue;
    const bool by_force = notice.ends + kGrace <= now;
    if (by_force || !notice.was_asked) io.end_process(std::get<0>(key), by_force);
    notice.was_asked = true;
  }
  notices_ = std::move(notices);
}

Time ForeignNotices::end_of(const GpuProcess& process) const {
  const auto found = notices_.find(key_of(process));
  return found == notices_.end() ? Time::never() : found->second.ends;
}

}  // namespace fairlead
