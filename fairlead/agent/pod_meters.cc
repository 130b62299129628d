#include "fairlead/agent/pod_meters.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace fairlead {

namespace fs = std::filesystem;

void PodMeters::set(const Pod& pod, bool works, Time now) {
  const auto [found, is_new] = pods_.try_emplace(
      pod.uid, Metered{folder_ / fmt::format("{}_{}_{}", pod.name_space, pod.name, pod.uid)});
  Metered& metered = found->second;
  if (std::exchange(metered.works, works) == works) return;
  for (auto& [name, container] : metered.containers)
    works ? container.meter.run(now) : container.meter.pause(now);
}

void PodMeters::look(Time now) {
  for (auto& [uid, pod] : pods_) look_at(pod, now);
}

void PodMeters::look_at(Metered& pod, Time now) {
  std::error_code error;
  for (fs::directory_iterator folder(pod.folder, error), end; !error && folder != end;
       folder.increment(error)) {
    const auto [found, is_new] =
        pod.containers.try_emplace(folder->path().filename(), Container{PodOutput(folder->path())});
    if (is_new && pod.works) found->second.meter.run(now);
  }
  for (auto& [name, container] : pod.containers) {
    const PodOutput::Text text = container.output.read();
    if (text.is_new) {  // the time of its start does not count
      container.meter = {};
      container.position = 0;
      if (pod.works) container.meter.run(now);
    }
    if (text.has_gap) ++container.position;
    container.meter.read(now, container.position, text.lines);
    container.position += text.lines.size();
  }
}

std::optional<PodProgress> PodMeters::progress(const std::string& uid) const {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return std::nullopt;
  for (const auto& [name, container] : pod->second.containers) {
    const auto rate = container.meter.rate();
    if (rate && *rate > 0) return PodProgress{*rate, *container.meter.last()};
  }
  return std::nullopt;
}

}  // namespace fairlead
