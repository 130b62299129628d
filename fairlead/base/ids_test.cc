#include "fairlead/base/ids.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace fairlead {
namespace {

// Expressions that must not compile, each next to its positive control: the same expression with the right type.
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a == b;
};
template <class A, class B>
concept Ordered = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class Vector, class Index>
concept Indexable = requires(Vector vector, Index index) {
  vector[index];
};

static_assert(Comparable<JobId, JobId>);
static_assert(!Comparable<JobId, NodeId>);
static_assert(!Comparable<JobId, std::size_t>);
static_assert(Ordered<JobId, JobId>);
static_assert(!Ordered<JobId, NodeId>);
static_assert(Addable<std::size_t, std::size_t>);
static_assert(!Addable<JobId, JobId>);
static_assert(!Addable<JobId, std::size_t>);

static_assert(Indexable<IdVector<JobId, int>, JobId>);
static_assert(Indexable<const IdVector<JobId, int>, JobId>);
static_assert(!Indexable<IdVector<JobId, int>, NodeId>);
static_assert(!Indexable<IdVector<JobId, int>, std::size_t>);

static_assert(std::is_constructible_v<JobId, std::size_t>);
static_assert(!std::is_convertible_v<std::size_t, JobId>);
static_assert(!std::is_constructible_v<JobId, NodeId>);
static_assert(std::is_assignable_v<JobId&, JobId>);
static_assert(!std::is_assignable_v<JobId&, NodeId>);

static_assert(sizeof(JobId) == 4);
static_assert(std::is_trivially_copyable_v<JobId>);

TEST(Id, IsNoneUntilItGetsARow) {
  EXPECT_TRUE(JobId().is_none());
  EXPECT_TRUE(JobId::none().is_none());
  EXPECT_FALSE(JobId(0).is_none());
  EXPECT_EQ(JobId(7).row(), 7U);
}

TEST(Id, OrdersByRowAndNoneComesLast) {
  EXPECT_LT(JobId(1), JobId(2));
  EXPECT_LT(JobId(1'000'000), JobId::none());
  EXPECT_NE(JobId(0), JobId::none());
}

TEST(IdVector, HasOneValuePerId) {
  IdVector<UserId, std::string> names;
  const UserId ann = names.push_back("ann");
  const UserId bob = names.push_back("bob");
  EXPECT_EQ(ann, UserId(0));
  EXPECT_EQ(names[bob], "bob");
  names[ann] = "anna";
  EXPECT_EQ(names[ann], "anna");
  EXPECT_TRUE(names.has(bob));
  EXPECT_FALSE(names.has(UserId(2)));
  EXPECT_FALSE(names.has(UserId::none()));
}

TEST(IdVector, ResizesWithTheGivenValue) {
  IdVector<NodeId, int> column(2, 5);
  column.resize(4, 9);
  EXPECT_EQ(std::vector<int>(column.begin(), column.end()), (std::vector<int>{5, 5, 9, 9}));
}

TEST(IdVector, GrowsToAnIdAndKeepsWhatItHas) {
  IdVector<NodeId, int> column(1, 5);
  column.grow_to(NodeId(2)) = 7;
  EXPECT_EQ(std::vector<int>(column.begin(), column.end()), (std::vector<int>{5, 0, 7}));
  column.grow_to(NodeId(0)) = 6;
  EXPECT_EQ(std::vector<int>(column.begin(), column.end()), (std::vector<int>{6, 0, 7}));
}

#ifdef FAIRLEAD_DCHECKS
TEST(IdVectorDeathTest, ChecksTheRow) {
  const IdVector<NodeId, int> column(2, 0);
  EXPECT_DEATH(static_cast<void>(column[NodeId(2)]), "row 2 of 2");
}
#endif

TEST(IdRange, VisitsEachRowInOrder) {
  std::vector<std::uint32_t> rows;
  for (NodeId node : ids<NodeId>(3)) rows.push_back(node.row());
  EXPECT_EQ(rows, (std::vector<std::uint32_t>{0, 1, 2}));
  for (NodeId node : ids<NodeId>(0)) FAIL() << node.row();
}

}  // namespace
}  // namespace fairlead
