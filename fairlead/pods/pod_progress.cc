#include "fairlead/pods/pod_progress.h"

#include "fairlead/base/parse.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

constexpr double kUnitsMax = 1e15;  // a double has them exactly
constexpr double kPerSMax = 1e9;    // chosen: more than any program prints

}  // namespace

std::string progress_text(const PodProgress& progress) {
  const Progress& at = progress.progress;
  return fmt::format("{:.4g} {:.0f} {:.0f} {}", progress.unit_per_s, at.done, at.total, at.unit);
}

std::optional<PodProgress> parse_pod_progress(std::string_view text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const auto per_s = parse_number(text.substr(0, space));
  const auto progress = parse_progress(text.substr(std::min(space + 1, text.size())));
  if (!per_s || !(*per_s > 0 && *per_s <= kPerSMax) || !progress) return std::nullopt;
  if (progress->unit.empty() || progress->done > kUnitsMax || progress->total > kUnitsMax)
    return std::nullopt;
  return PodProgress{*per_s, *progress};
}

}  // namespace fairlead
