#include "fairlead/policy/gandiva_fair/node_books.h"

#include "fairlead/input/cluster_file.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace fairlead {
namespace {

const GpuTypeId kV100(0);

// The books of a cluster of which every node is up, and the jobs that a test keeps there.
struct Library {
  explicit Library(std::string_view shorthand, double jobs_per_gpu_max = 8)
      : cluster(*parse_cluster_shorthand(shorthand)), books(jobs_per_gpu_max) {
    books.begin(cluster, FreeIndex(cluster));
  }

  // Keeps the next job. Returns true if the node is contended from now on.
  bool keep(std::size_t node, std::uint32_t gpus, double tickets = 1) {
    const JobId job(jobs++);
    return books.add(NodeId(node),
                     {.tickets = tickets, .gpus = gpus, .order = job.row(), .job = job});
  }

  Cluster cluster;
  NodeBooks books;
  std::size_t jobs = 0;
};

TEST(NodeBooks, ANodeIsContendedWhileItsJobsNeedMoreThanItHas) {
  Library library("2xV100:4");
  EXPECT_FALSE(library.keep(0, 3));
  EXPECT_TRUE(library.keep(0, 2));
  EXPECT_FALSE(library.keep(0, 1)) << "since before";
  EXPECT_TRUE(library.books.add_slice({NodeId(1), 5}, JobId(7), 0.5));
  ASSERT_EQ(library.books.contended().size(), 2U);
  library.books.remove(NodeId(0), JobId(1));
  ASSERT_EQ(library.books.contended().size(), 1U);
  EXPECT_EQ(library.books.contended()[0], NodeId(1));
  library.books.remove_slice({NodeId(1), 5}, JobId(7));
  EXPECT_TRUE(library.books.contended().empty());
}

TEST(NodeBooks, ALoadIsTheDuesOfTheJobsPerGpu) {
  Library library("2xV100:4");
  library.keep(0, 4, 2);
  library.keep(0, 1, 3);
  EXPECT_EQ(library.books[NodeId(0)].load, (2.0 + 1) / 4) << "no job is due more than its gang";
  library.books.add_slice({NodeId(1), 2}, JobId(7), 0.5);
  EXPECT_EQ(library.books[NodeId(1)].load, 0.25);
  EXPECT_EQ(library.books.by_load(kV100).top().id, NodeId(1));
  library.books.remove(NodeId(0), JobId(0));
  EXPECT_EQ(library.books[NodeId(0)].load, 0.25);
  library.books.set_load(NodeId(1), 0.5);
  EXPECT_EQ(library.books.by_load(kV100).top().id, NodeId(0));
}

TEST(NodeBooks, ANodeThatIsDownHasNoRoomAndNothingToSpare) {
  Library library("1xV100:4");
  library.books.resize(NodeId(0), 0);
  EXPECT_FALSE(library.books.has_room(NodeId(0), 1));
  EXPECT_TRUE(library.books.spare(kV100, 1).is_none());
  EXPECT_EQ(library.books.gpus_of_type(kV100), 0);
  library.books.resize(NodeId(0), 3);  // one is lost
  EXPECT_EQ(library.books.spare(kV100, 3), NodeId(0));
  EXPECT_EQ(library.books.gpus_of_type(kV100), 3);
}

TEST(NodeBooks, ANodeKeepsSoManyGpusWorthOfJobsAndNoMore) {
  Library library("1xV100:4", 2);
  for (int i = 0; i < 7; ++i) library.keep(0, 1);
  EXPECT_TRUE(library.books.has_room(NodeId(0), 1));
  EXPECT_FALSE(library.books.has_room(NodeId(0), 2));
  EXPECT_TRUE(library.books.has_room(NodeId(0), 2, 1)) << "after a job of one GPU leaves";
}

TEST(NodeBooks, ANodeThatJoinsIsEmpty) {
  Library library("1xV100:4");
  library.keep(0, 4);
  library.cluster = *parse_cluster_shorthand("2xV100:4");
  EXPECT_TRUE(library.books.begin(library.cluster, FreeIndex(library.cluster)));
  EXPECT_EQ(library.books.spare(kV100, 1), NodeId(1));
  EXPECT_EQ(library.books.gpus_of_type(kV100), 8);
  EXPECT_FALSE(library.books.begin(library.cluster, FreeIndex(library.cluster)));
}

}  // namespace
}  // namespace fairlead
