// Attributes of a job beside its number of GPUs: how close the GPUs must be, attributes that few jobs have, CPU and
// memory, and facts from the log of another scheduler.
//
// JobExtras lists each attribute once, beside its member. Journals and their dumps, Fairlead's own trace format,
// workloads, replays, and requests and answers of the daemon visit that list. To add an attribute, add a
// member and its line, and use it.
#pragma once

#include "fairlead/base/units.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fairlead {

using Level = std::uint8_t;
constexpr Level kAnywhere = 0;
constexpr Level kHostLevel = 1;
constexpr Level kRackLevel = 2;  // and one more for each level of switches above
constexpr Level kLevelMax = 15;

// The closeness of the GPUs of a gang. A narrower level is a smaller number, except kAnywhere, which
// stands for no request.
struct Closeness {
  Level required = kAnywhere;
  Level preferred = kAnywhere;  // narrower than `required`, or kAnywhere

  // One number below 256 for keys and files; 0: neither. And back.
  constexpr std::uint32_t bits() const { return required | std::uint32_t{preferred} << 4; }
  static constexpr Closeness of_bits(std::uint32_t bits) {
    return {static_cast<Level>(bits & kLevelMax), static_cast<Level>(bits >> 4 & kLevelMax)};
  }
  friend bool operator==(Closeness, Closeness) = default;
};

constexpr std::uint32_t kCopiesMax = 65'535;
constexpr std::uint32_t kCheckpointEveryMaxS = 30 * 86'400;

// Values of JobExtras::pinned. A pinned job keeps its work only in the memory of its processes: once it has
// run, it returns to the very GPUs of its last run, or waits for them.
constexpr std::uint32_t kMayMove = 0;
constexpr std::uint32_t kPinnedAlways = 1;
constexpr std::uint32_t kPinnedUntilSeen = 2;  // until the world reports that it can save its work

// The values that an attribute can have.
template <class T>
struct ValueRange {
  T min;
  T max;
  constexpr bool has(auto value) const { return value >= min && value <= max; }
};

// Attributes that few jobs have. 0: the job does not name the attribute.
struct JobExtras {
  std::uint32_t copies_max = 0;  // copies to train as, one per node; 0: as many as there are nodes
  std::uint32_t pinned = kMayMove;
  // Seconds of its training between two checkpoints, if it saves no other; 0: it also saves when it must move. A move
  // loses the work since the last one.
  std::uint32_t checkpoint_every_s = 0;

  // Returns the largest number of copies on that many nodes.
  std::uint32_t most_copies(std::size_t nodes) const {
    const auto each_node = static_cast<std::uint32_t>(nodes);
    return copies_max == 0 ? each_node : std::min(copies_max, each_node);
  }

  // Calls visit(name, field, range) for each attribute, in the order of the bytes of journals: add a new
  // one at the end.
  static constexpr void each(auto& self, auto&& visit) {
    visit("copies_max", self.copies_max, ValueRange<std::uint32_t>{1, kCopiesMax});
    visit("pinned", self.pinned, ValueRange<std::uint32_t>{kPinnedAlways, kPinnedUntilSeen});
    visit("checkpoint_every_s", self.checkpoint_every_s,
          ValueRange<std::uint32_t>{1, kCheckpointEveryMaxS});
  }
  friend bool operator==(const JobExtras&, const JobExtras&) = default;
};

// The extras of a job that is submitted to a running scheduler and names none: only a job that knows how
// trains as several copies.
constexpr JobExtras kSubmittedExtras{.copies_max = 1};

// A decimal number in thousandths; 0: not stated.
struct Thousandths {
  std::int64_t value = 0;
  friend constexpr auto operator<=>(Thousandths, Thousandths) = default;
};
// The most CPUs, or GB of memory, that a node or a job may state, in thousandths.
constexpr std::int64_t kThousandthsMax = 1'000'000'000;

// Returns that many thousandths. Negative and too large amounts count as not stated.
constexpr Thousandths thousandths_of(std::int64_t value) {
  return {value > 0 && value <= kThousandthsMax ? value : 0};
}
// Returns that many CPUs or GB. Negative and too large amounts count as not stated.
constexpr Thousandths thousandths_of_whole(std::int64_t amount) {
  return {amount > 0 && amount <= kThousandthsMax / 1000 ? amount * 1000 : 0};
}
// Returns that many MB in GB of 1024 MB. Negative and too large amounts count as not stated.
constexpr Thousandths gb_of_mb(std::int64_t mb) { return {thousandths_of(mb).value * 1000 / 1024}; }

// CPU and memory that a node has for its jobs, or that a job asks for.
struct CpuMemory {
  Thousandths cpus;
  Thousandths memory_gb;
  // Returns the amounts of that many such tasks. Too large amounts count as not stated.
  constexpr CpuMemory times(std::int64_t tasks) const {
    const auto product = [tasks](Thousandths one) {
      const bool fits = tasks > 0 && one.value <= kThousandthsMax / tasks;
      return Thousandths{fits ? one.value * tasks : 0};
    };
    return {product(cpus), product(memory_gb)};
  }
  // Returns the part of a node with `gpus` of the `all` GPUs of its host. REQUIRES: 0 < gpus <= all.
  constexpr CpuMemory part(std::int64_t gpus, std::int64_t all) const {
    return {{cpus.value * gpus / all}, {memory_gb.value * gpus / all}};
  }
  bool is_stated() const { return cpus.value > 0 || memory_gb.value > 0; }
  friend bool operator==(CpuMemory, CpuMemory) = default;
};

// Facts of a job from the log of another scheduler, for policies that imitate that scheduler.
struct Logged {
  Duration time_limit{};       // requested by the user; 0: unknown
  std::int64_t priority = 0;   // the higher, the sooner; 0: unknown
  Time start = Time::never();  // the first start there; never: unknown
  friend bool operator==(const Logged&, const Logged&) = default;
};

}  // namespace fairlead
