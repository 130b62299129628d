// The hot loop does not allocate once warm: counts every operator new during a steady load.

#include "fairlead/base/rng.h"
#include "testing/allocation_counter.h"
#include "testing/world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// 20,000 jobs in equal waves that fill 128 GPUs about 1.6 times over and let them empty again. By
// half time every structure has thus reached its largest size.
World waves() {
  World world{.cluster = "16xV100:8"};
  for (std::int64_t wave = 0; wave < 40; ++wave) {
    Rng rng(1);
    for (int i = 0; i < 500; ++i) {
      WorldJob job;
      job.submit = {wave * 4'000'000 + static_cast<std::int64_t>(rng.below(1'000'000))};
      job.gpus = std::uint32_t{1} << rng.below(4);
      job.work = {static_cast<std::int64_t>(1 + rng.below(400'000))};
      world.jobs.push_back(job);
    }
  }
  return world;
}

// The test's own sinks allocate (the audit keeps gangs), so this counts without them.
class Counting : public testing::TestWithParam<std::string> {};

TEST_P(Counting, NoAllocationInTheSecondHalfOfASteadyLoad) {
  const World world = waves();
  const auto half =
      static_cast<std::int64_t>(world.jobs.size());  // an arrival and a finish per job
  std::int64_t before = 0;
  const std::int64_t events = run_bare(world, GetParam(), [&](std::int64_t so_far) {
    if (so_far <= half) before = allocations_so_far();
  });
  const std::int64_t counted_allocations = allocations_so_far() - before;
  EXPECT_GT(events, 30'000);
  // Columns with a row per job double once while the second half of the jobs arrives; a policy has
  // at most six. Everything else already has its final size.
  EXPECT_LE(counted_allocations, 6);
}

INSTANTIATE_TEST_SUITE_P(Policies, Counting,
                         testing::Values("fifo", "fifo:skip=true", "fifo:backfill=easy", "slurm",
                                         "kube", "as-recorded", "sjf", "yarn-cs", "smallest",
                                         "srtf", "srsf", "las", "tiresias:limits=60/600",
                                         "tiresias:limits=60/600,promote=2", "gang-stride",
                                         "proportional"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace fairlead
