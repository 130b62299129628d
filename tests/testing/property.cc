#include "testing/property.h"

#include "fairlead/base/hash.h"
#include "fairlead/base/parse.h"
#include "fairlead/base/rng.h"
#include "testing/case_file.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <unistd.h>

namespace fairlead {
namespace {

constexpr int kReportsMax = 3;
constexpr int kShrinkRunsMax = 500;

std::int64_t setting(const char* name, std::int64_t otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return otherwise;
  const auto number = parse_integer(text);
  FL_CHECK(number.has_value() && *number >= 1, "{} must be a number above 0: {}", name, text);
  return *number;
}

// Prints the present case if the program aborts while this object lives.
class AbortNote {
 public:
  AbortNote() : before_(std::signal(SIGABRT, print)) { text_ = &note_; }
  AbortNote(const AbortNote&) = delete;
  AbortNote& operator=(const AbortNote&) = delete;
  ~AbortNote() {
    std::signal(SIGABRT, before_);
    text_ = nullptr;
  }
  void set(std::string note) { note_ = std::move(note); }

 private:
  static void print(int) {  // uses only functions allowed in a signal handler; abort() ends the
                            // program after it
    if (text_ == nullptr) return;
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text_->data(), text_->size());
  }

  static inline const std::string* text_ = nullptr;
  void (*before_)(int);
  std::string note_;
};

using Change = std::function<void(World&)>;

// Returns the ways to make a world simpler, besides dropping jobs.
std::vector<Change> simplifications() {
  return {
      [](World& world) { world.settings.costs = Costs::none(); },
      [](World& world) { world.settings.faults = {.checkpoint_interval = {}}; },
      [](World& world) { world.settings.unreliable.late_max = {}; },
      [](World& world) { world.settings.unreliable.start_max = {}; },
      [](World& world) { world.settings.unreliable.stop_max = {}; },
      [](World& world) { world.settings.unreliable.repeat = 0; },
      [](World& world) { world.settings.unreliable.shuffle = 0; },
      [](World& world) { world.settings.unreliable.start_fails = 0; },
      [](World& world) { world.settings.unreliable.stop_fails = 0; },
      [](World& world) { world.settings.unreliable.gpu_losses_per_h = 0; },
      [](World& world) { world.settings.unreliable.operators_per_h = 0; },
      [](World& world) { world.settings.unreliable.users_come = 0; },
      [](World& world) {
        std::erase(world.cluster, ' ');
        std::ranges::replace(world.cluster, '|', ',');
      },
      [](World& world) { world.cluster = world.cluster.substr(0, world.cluster.find(" |")); },
      [](World& world) { world.cluster = world.cluster.substr(0, world.cluster.find(',')); },
      [](World& world) {
        for (WorldJob& job : world.jobs) job.model.clear();
      },
      [](World& world) {
        for (WorldJob& job : world.jobs) job.gpus_min = job.gpus_max = 0;
      },
      [](World& world) {
        for (WorldJob& job : world.jobs) job.task_gpus = 1;
      },
      [](World& world) {
        for (WorldJob& job : world.jobs) {
          job.time_limit = {};
          job.priority = 0;
          job.partition.clear();
          job.logged_start = Time::never();
        }
      },
      [](World& world) {
        world.nodes_have.clear();
        for (WorldJob& job : world.jobs) job.asks = {};
      },
      [](World& world) {
        for (WorldJob& job : world.jobs) job.asks.memory_gb = {};
      },
      [](World& world) {
        world.nodes_have.resize(std::min<std::size_t>(1, world.nodes_have.size()));
      },
      [](World& world) {
        for (WorldJob& job : world.jobs) job.prefer_level.clear();
      },
      [](World& world) {
        for (WorldJob& job : world.jobs) job.require_level.clear();
      },
      [](World& world) {
        for (WorldJob& job : world.jobs) job.user = "u0";
      },
      [](World& world) {
        for (WorldJob& job : world.jobs) job.submit = {};
      },
  };
}

class Shrinker {
 public:
  Shrinker(World world, const std::string& variant, const Property& property)
      : world_(std::move(world)), variant_(variant), property_(property) {}

  World shrink() {
    for (bool smaller = true; smaller;) {
      smaller = drop_jobs();
      for (const Change& change : simplifications()) smaller |= try_change(change);
    }
    return std::move(world_);
  }

 private:
  // Drops halves, then quarters, and so on down to single jobs.
  bool drop_jobs() {
    bool smaller = false;
    for (std::size_t chunk = world_.jobs.size(); chunk >= 1; chunk /= 2) {
      for (std::size_t at = 0; at < world_.jobs.size();) {
        const bool dropped = try_change([&](World& world) {
          const auto begin = world.jobs.begin() + static_cast<std::ptrdiff_t>(at);
          const std::size_t count = std::min(chunk, world.jobs.size() - at);
          world.jobs.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
        });
        if (!dropped) at += chunk;
        smaller |= dropped;
      }
    }
    return smaller;
  }

  // Keeps the change if it changes something and the property is still broken.
  bool try_change(const Change& change) {
    World changed = world_;
    change(changed);
    if (changed.jobs.empty() || runs_ >= kShrinkRunsMax) return false;
    if (case_text(changed, variant_, "") == case_text(world_, variant_, "")) return false;
    ++runs_;
    if (property_(changed, variant_).empty()) return false;
    world_ = std::move(changed);
    return true;
  }

  World world_;
  const std::string& variant_;
  const Property& property_;
  int runs_ = 0;
};

}  // namespace

World shrunk(World world, const std::string& variant, const Property& property) {
  FL_CHECK(!property(world, variant).empty(), "the property holds");
  return Shrinker(std::move(world), variant, property).shrink();
}

std::string broken(std::string_view name, const std::vector<std::string>& variants,
                   const Ingredients& may, const Property& property) {
  const std::int64_t worlds = setting("FAIRLEAD_WORLDS", kWorldsDefault);
  const std::vector<std::uint8_t> stream(name.begin(), name.end());
  const Rng seeds = Rng(static_cast<std::uint64_t>(setting("FAIRLEAD_SEED", 1)))
                        .split(hash_bytes(kHashStart, stream));
  AbortNote note;
  const Property noted = [&](const World& world, const std::string& variant) {
    note.set(case_text(world, variant, fmt::format("{}: the program aborts.", name)));
    return property(world, variant);
  };
  std::string reports;
  int reported = 0;
  for (std::size_t variant = 0; variant < variants.size(); ++variant) {
    Rng rng = seeds.split(variant);
    for (std::int64_t i = 0; i < worlds && reported < kReportsMax; ++i) {
      const World world = drawn_world(rng.next(), may);
      if (noted(world, variants[variant]).empty()) continue;
      const World small = shrunk(world, variants[variant], noted);
      const std::string wrong = property(small, variants[variant]);
      reports += case_text(small, variants[variant], fmt::format("{}: {}", name, wrong));
      ++reported;
      break;
    }
  }
  return reports;
}

}  // namespace fairlead
