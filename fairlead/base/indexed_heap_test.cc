#include "fairlead/base/indexed_heap.h"

#include "fairlead/base/rng.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

namespace fairlead {
namespace {

using Heap = IndexedHeap<std::int64_t, JobId>;

// The plain version: an ordered set beside a map.
class PlainHeap {
 public:
  void set(JobId id, std::int64_t key) {
    erase(id);
    keys_[id] = key;
    order_.insert({key, id});
  }
  void erase(JobId id) {
    if (!keys_.contains(id)) return;
    order_.erase({keys_[id], id});
    keys_.erase(id);
  }
  std::pair<std::int64_t, JobId> top() const { return *order_.begin(); }
  std::size_t size() const { return order_.size(); }
  std::optional<std::int64_t> key(JobId id) const {
    const auto found = keys_.find(id);
    return found == keys_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<JobId, std::int64_t> keys_;
  std::set<std::pair<std::int64_t, JobId>> order_;
};

void expect_equal(const Heap& heap, const PlainHeap& plain, JobId probe) {
  ASSERT_EQ(heap.size(), plain.size());
  ASSERT_EQ(heap.empty(), plain.size() == 0);
  ASSERT_EQ(heap.contains(probe), plain.key(probe).has_value());
  if (heap.contains(probe)) {
    ASSERT_EQ(heap.key(probe), plain.key(probe));
  }
  if (!heap.empty()) {
    ASSERT_EQ(std::pair(heap.top().key, heap.top().id), plain.top());
  }
}

class IndexedHeapModel : public testing::TestWithParam<std::uint64_t> {};

TEST_P(IndexedHeapModel, BehavesLikeAnOrderedSet) {
  Rng rng(GetParam());
  Heap heap;
  PlainHeap plain;
  for (int step = 0; step < 20'000; ++step) {
    const JobId id(rng.below(100));
    const auto key = static_cast<std::int64_t>(rng.below(40));  // few keys: many ties
    switch (rng.below(4)) {
      case 0:
      case 1:
        heap.set(id, key);
        plain.set(id, key);
        break;
      case 2:
        heap.erase(id);
        plain.erase(id);
        break;
      default:
        if (heap.empty()) break;
        const Heap::Entry first = heap.pop();
        ASSERT_EQ(std::pair(first.key, first.id), plain.top());
        plain.erase(first.id);
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal(heap, plain, id)) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, IndexedHeapModel, testing::Values(1, 2, 3));

TEST(IndexedHeap, BreaksTiesByIdWhateverTheHistory) {
  Heap heap;
  for (std::size_t id : {5U, 2U, 9U, 1U}) heap.set(JobId(id), 10);
  heap.set(JobId(7), 3);
  heap.set(JobId(7), 10);
  std::vector<std::uint32_t> order;
  while (!heap.empty()) order.push_back(heap.pop().id.row());
  EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 2, 5, 7, 9}));
}

#ifdef FAIRLEAD_DCHECKS
TEST(IndexedHeapDeathTest, HasNoTopWhenEmpty) {
  const Heap heap;
  EXPECT_DEATH(heap.top(), "empty");
}
#endif

TEST(IndexedHeap, MembersAreVisitedByRisingKeyUntilTheVisitorHasEnough) {
  Rng rng(1);
  Heap heap;
  PlainHeap plain;
  for (std::size_t i = 0; i < 200; ++i) {
    const JobId id(rng.below(100));
    const auto key = static_cast<std::int64_t>(rng.below(30));
    heap.set(id, key);
    plain.set(id, key);
  }
  std::vector<std::uint32_t> ahead;
  for (const std::size_t wanted : {std::size_t{1}, std::size_t{8}, heap.size()}) {
    PlainHeap left = plain;
    std::size_t seen = 0;
    heap.rising(ahead, [&](const Heap::Entry& entry) {
      EXPECT_EQ(std::pair(entry.key, entry.id), left.top());
      left.erase(entry.id);
      return ++seen < wanted;
    });
    EXPECT_EQ(seen, wanted);
  }
  Heap().rising(ahead, [](const Heap::Entry&) {
    ADD_FAILURE() << "an empty heap has no members";
    return false;
  });
}

}  // namespace
}  // namespace fairlead
