// Google Benchmark over the parts of the hot loop. Times are noisy on shared machines: read them as
// ratios within one run.

#include "fairlead/base/indexed_heap.h"
#include "fairlead/base/rng.h"
#include "fairlead/base/units.h"
#include "fairlead/journal/journal.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/model/free_index.h"

#include <benchmark/benchmark.h>

namespace fairlead {
namespace {

Cluster cluster_of(std::size_t nodes) {
  const NodeSpec node{.name = "", .gpu_type = "V100", .gpus = 8, .host = "", .rack = ""};
  return *build_cluster("bench", {}, std::vector<NodeSpec>(nodes, node));
}

// Leaves about one node in ten with a free GPU, like a loaded cluster.
void fill(FreeIndex& index, std::size_t nodes, Rng& rng) {
  for (NodeId node : ids<NodeId>(nodes)) {
    index.take(node, rng.below(10) == 0 ? 7 - static_cast<std::uint32_t>(rng.below(7)) : 8);
  }
}

void free_index_first(benchmark::State& state) {
  const auto nodes = static_cast<std::size_t>(state.range(0));
  const Cluster cluster = cluster_of(nodes);
  FreeIndex index(cluster);
  Rng rng(1);
  fill(index, nodes, rng);
  std::uint32_t gpus = 0;
  for (auto _ : state) {
    gpus = gpus % 4 + 1;
    benchmark::DoNotOptimize(index.first(GpuTypeId(0), gpus, index.everywhere()));
  }
}
BENCHMARK(free_index_first)->Arg(125)->Arg(1'250)->Arg(12'500);

void free_index_tightest(benchmark::State& state) {
  const auto nodes = static_cast<std::size_t>(state.range(0));
  const Cluster cluster = cluster_of(nodes);
  FreeIndex index(cluster);
  Rng rng(1);
  fill(index, nodes, rng);
  std::uint32_t gpus = 0;
  for (auto _ : state) {
    gpus = gpus % 4 + 1;
    benchmark::DoNotOptimize(index.tightest(GpuTypeId(0), gpus, index.everywhere()));
  }
}
BENCHMARK(free_index_tightest)->Arg(125)->Arg(1'250)->Arg(12'500);

void completion_heap(benchmark::State& state) {
  const auto running = static_cast<std::size_t>(state.range(0));
  IndexedHeap<Time, JobId> heap;
  Rng rng(1);
  for (JobId job : ids<JobId>(running))
    heap.set(job, {static_cast<std::int64_t>(rng.below(1'000'000))});
  for (auto _ : state) {
    const auto [t, job] = heap.pop();
    heap.set(job, {t.ms + static_cast<std::int64_t>(rng.below(1'000'000))});
  }
}
BENCHMARK(completion_heap)->Arg(100)->Arg(1'000)->Arg(10'000);

void exact_progress(benchmark::State& state) {
  Work left = reference_work(hours(24 * 365));
  const Rate rate = Rate::of(0.37);
  for (auto _ : state) {
    left = left - progress(rate, milliseconds(1'001));
    benchmark::DoNotOptimize(time_to_finish(left, rate));
  }
}
BENCHMARK(exact_progress);

void journal_place(benchmark::State& state) {
  const std::vector<Slice> gang = {{NodeId(1'000), 1}};
  const std::vector<std::uint64_t> masks = {0x80};
  Record place{{}, record::Place{.job = JobId(123'456), .gang = gang, .gpu_masks = masks}};
  JournalFile journal;
  for (auto _ : state) {
    place.t = place.t + milliseconds(750);
    journal.on(place);
  }
}
BENCHMARK(journal_place);

}  // namespace
}  // namespace fairlead
