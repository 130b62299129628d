#include "fairlead/cli/saved_queue.h"

#include "fairlead/cli/forecast_text.h"
#include "fairlead/forecast/slurm_now.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/trace/trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace fairlead {
namespace {

Result<ClusterNow> slurm() {
  return slurm_now({.nodes = "tests/data/slurm/scontrol.txt",
                    .queue = "tests/data/slurm/squeue.txt",
                    .ended = "tests/data/slurm/sacct.txt"});
}

TEST(SavedQueue, IsReadBackWithTheSameForecast) {
  const auto now = slurm();
  ASSERT_TRUE(now) << now.error().message;
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("fairlead-saved-queue-test-{}", ::getpid());
  ASSERT_TRUE(save(*now, folder));
  const auto cluster = load_cluster((folder / "cluster.yaml").string());
  const auto trace = read_trace((folder / "jobs.csv").string(), {});
  const auto queue = read_saved_queue(folder);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(queue) << queue.error().message;
  EXPECT_EQ(queue->notes, assumptions_text(*now));
  EXPECT_EQ(whatif_tables({what_if(queue->queue, "fifo").value()}, TextStyle::kPlain),
            whatif_tables({what_if(now->queue, "fifo").value()}, TextStyle::kPlain));
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->node_names, now->queue.cluster.node_names);
  EXPECT_EQ(cluster->type_names, now->queue.cluster.type_names);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.size(), now->trace->jobs());
}

TEST(SavedQueue, TheNotesHaveTheSourcesOfRemainingTimesAndTheOmissions) {
  const auto now = slurm();
  ASSERT_TRUE(now) << now.error().message;
  const std::string text = assumptions_text(*now);
  for (const char* part : {"by their median: as jobs of ann take", "left out: 1 node (drain)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

}  // namespace
}  // namespace fairlead
