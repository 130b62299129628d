#include "fairlead/policy/tiresias/gittins.h"

#include "fairlead/base/file.h"
#include "fairlead/base/parse.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace fairlead {
namespace {

// Every twentieth of the 1,001 values in yarn-gput1000.csv (SymbioticLab/Tiresias, Apache-2.0).
constexpr std::int64_t kBuiltin[] = {121,  211,  357,   552,   672,   860,    1049,
                                     1331, 1559, 1908,  2227,  2577,  3064,   4081,
                                     5555, 8215, 12706, 29168, 75999, 326172, 53294624};

}  // namespace

GittinsIndex::GittinsIndex(std::vector<std::int64_t> samples, std::int64_t quantum_gpu_s)
    : samples_(std::move(samples)) {
  FL_CHECK(!samples_.empty() && quantum_gpu_s > 0);
  std::ranges::sort(samples_);
  std::vector<std::int64_t> sums(samples_.size() + 1);
  std::partial_sum(samples_.begin(), samples_.end(), sums.begin() + 1);
  const auto first_above = [this](std::int64_t value) {
    return static_cast<std::size_t>(std::ranges::upper_bound(samples_, value) - samples_.begin());
  };
  for (const std::int64_t sample : samples_) {
    const std::int64_t served = sample - 1;
    const std::size_t begin = first_above(served);
    // The artefact's window ends before the last sample even if it reaches beyond.
    const std::size_t end = served + quantum_gpu_s > samples_.back() - 1
                                ? samples_.size() - 1
                                : first_above(served + quantum_gpu_s);
    const auto above = static_cast<std::int64_t>(samples_.size() - begin);
    const auto beyond = static_cast<std::int64_t>(samples_.size() - end);
    const double share = static_cast<double>(end - begin) / static_cast<double>(above);
    const double finishing = static_cast<double>(std::llround(share * 1e5)) / 1e5;
    // The artefact sums the samples themselves, not their remainders.
    const std::int64_t cost = (sums[end] - sums[begin] + quantum_gpu_s * beyond) / above;
    const double index = finishing * 1e6 / static_cast<double>(std::max(cost, std::int64_t{1}));
    index_.push_back(std::llround(index * 1e4));
  }
}

std::int64_t GittinsIndex::of(GpuTime served) const {
  const auto above = std::ranges::upper_bound(samples_, saturated_gpu_ms(served) / 1000);
  if (above == samples_.end()) return 0;
  return index_[static_cast<std::size_t>(above - samples_.begin())];
}

std::span<const std::int64_t> builtin_service_samples() { return kBuiltin; }

Result<std::vector<std::int64_t>> read_service_samples(const std::filesystem::path& path) {
  FL_TRY_ASSIGN(source, ByteSource::open(path.string()));
  LineReader lines(source);
  std::vector<std::int64_t> samples;
  for (;;) {
    FL_TRY_ASSIGN(more, lines.next());
    if (!more) break;
    if (trimmed(lines.line()).empty()) continue;
    const auto sample = parse_integer(lines.line());
    if (!sample && lines.number() == 1) continue;
    if (!sample || *sample < 1 || *sample > kMsMax / 1000) {
      return input_error("{}:{}:1: a sample must be a whole number of GPU-seconds from 1 to {}: {}",
                         lines.name(), lines.number(), kMsMax / 1000, lines.line());
    }
    samples.push_back(*sample);
  }
  if (samples.empty()) return input_error("it has no sample: {}", path.string());
  return samples;
}

}  // namespace fairlead
