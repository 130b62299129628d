#include "fairlead/local/reservation_book.h"

#include "fairlead/base/rng.h"
#include "fairlead/io/sim_io.h"
#include "fairlead/local/machine.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Gpus = std::map<NodeId, std::uint32_t>;

struct Book {
  explicit Book(const char* nodes, std::uint32_t node_gpus = kNodeGpusMax)
      : machine(stand_in_machine(nodes, node_gpus).value()), book(io, machine.cluster) {}
  ReservationBook::Added add(std::uint32_t gpus, std::int64_t from, std::int64_t to,
                             std::size_t type = 0) {
    return book
        .add({.holder = "ann", .type = GpuTypeId(type), .gpus = gpus, .from_ms = from, .to_ms = to})
        .value();
  }
  SimIo io{1, {}};
  Machine machine;
  ReservationBook book;
};

TEST(ReservationBook, GpusAreOfTheTypeAndOfOneNodeIfItHasRoom) {
  Book book("4xV100,4xK80", 2);
  book.add(1, 0, 10);
  book.add(2, 0, 10);
  book.add(1, 0, 10, 1);
  EXPECT_EQ(book.book.all()[0].gpus, (Gpus{{NodeId(0), 1}}));
  EXPECT_EQ(book.book.all()[1].gpus, (Gpus{{NodeId(1), 2}}));
  EXPECT_EQ(book.book.all()[2].gpus, (Gpus{{NodeId(2), 1}}));
  EXPECT_EQ(book.add(2, 5, 15).id, 0U);
  book.book.cancel(1).value();
  book.add(1, 0, 10);
  book.book.cancel(2).value();
  book.add(3, 5, 15);
  EXPECT_EQ(book.book.all().back().gpus, (Gpus{{NodeId(0), 1}, {NodeId(1), 2}}));
}

constexpr std::int64_t kMinute = 60'000;

TEST(ReservationBook, ARefusalNamesTheFirstTimeWithRoom) {
  Book book("4xV100");
  const auto add = [&](std::uint32_t gpus, int from_min, int to_min) {
    return book.add(gpus, from_min * kMinute, to_min * kMinute);
  };
  add(3, 100, 200);
  add(2, 200, 300);
  add(4, 310, 400);
  const auto refused = add(2, 150, 250);
  EXPECT_EQ(refused.id, 0U);
  EXPECT_EQ(refused.free_gpus, 1U);
  EXPECT_EQ(refused.free_from_ms, 200 * kMinute) << "until 300";
  EXPECT_EQ(add(3, 150, 250).free_from_ms, 400 * kMinute);
  EXPECT_EQ(add(1, 150, 250).id, 4U) << "a refusal takes no number";
}

TEST(ReservationBook, ARefusalNamesAMinuteFromWhichTheRequestFits) {
  Book book("4xV100");
  book.add(4, 0, 10 * kMinute + 20'000);
  book.add(4, 40 * kMinute + 20'000, 50 * kMinute + 1);
  EXPECT_EQ(book.add(1, 0, 30 * kMinute).free_from_ms, 51 * kMinute)
      << "30 minutes are free from 10:20 on, and less from 11:00 on";
  EXPECT_EQ(book.add(1, 0, 29 * kMinute).free_from_ms, 11 * kMinute);
}

TEST(ReservationBook, IsTheFile) {
  Book book("4xV100");
  book.add(2, 100, 200);
  book.add(1, 50, 300);
  book.book.cancel(1).value();
  ReservationBook next(book.io, book.machine.cluster);
  ASSERT_TRUE(next.load());
  ASSERT_EQ(next.all().size(), 1U);
  EXPECT_EQ(next.all()[0].id, 2U);
  EXPECT_EQ(next.all()[0].holder, "ann");
  EXPECT_EQ(next.all()[0].from_ms, 50);
  EXPECT_EQ(next.all()[0].to_ms, 300);
  EXPECT_EQ(next.all()[0].gpus, (Gpus{{NodeId(0), 1}}));
  next.end(299);
  EXPECT_EQ(next.all().size(), 1U);
  next.end(300);
  EXPECT_EQ(next.all().size(), 0U);
  EXPECT_EQ(next.add({.holder = "bob", .type = GpuTypeId(0), .to_ms = 1}).value().id, 3U)
      << "numbers are not used again";
}

TEST(ReservationBook, AnotherFileIsAnError) {
  for (
      const char* text :
      {"", "{}", R"({"next": 1, "list": [{}]})",
       R"({"next": 2, "list": [{"id": 1, "holder": "ann", "is_group": false, "type": 0, "from_ms": 0, "to_ms": 1, "gpus": [[1, 1]]}]})"}) {
    Book book("4xV100");
    ASSERT_TRUE(book.io.write("reservations", text));
    EXPECT_FALSE(book.book.load()) << text;
  }
}

// At no time are more GPUs reserved than a node has. A refused request fits from the named minute on, and from no earlier one.
TEST(ReservationBook, RandomRequestsFitTogether) {
  constexpr std::int64_t kStep = 20'000;
  Rng random(7);
  for (int world = 0; world < 15; ++world) {
    Book book("5xV100", 3);
    for (int i = 0; i < 60; ++i) {
      const std::uint32_t gpus = 1 + static_cast<std::uint32_t>(random.below(5));
      const auto from = kStep * static_cast<std::int64_t>(random.below(100));
      const auto length = kStep * static_cast<std::int64_t>(1 + random.below(30));
      const auto ask = [&](std::int64_t from_ms) {
        return book.book.add(
            {.type = GpuTypeId(0), .gpus = gpus, .from_ms = from_ms, .to_ms = from_ms + length});
      };
      const auto added = ask(from);
      if (!added || added->id > 0) continue;
      ASSERT_LT(added->free_gpus, gpus);
      ASSERT_EQ(added->free_from_ms % kMinute, 0);
      for (std::int64_t at = from / kMinute * kMinute + kMinute; at < added->free_from_ms;
           at += kMinute) {
        const auto earlier = ask(at);
        ASSERT_TRUE(!earlier || earlier->id == 0) << at;
      }
      const auto later = ask(added->free_from_ms);
      ASSERT_TRUE(later && later->id > 0);
      ASSERT_TRUE(book.book.cancel(later->id));
    }
    for (std::int64_t t = 0; t < 130 * kStep; t += kStep) {
      Gpus sum;
      std::size_t at_once = 0;
      for (const Reservation& one : book.book.all()) {
        if (!one.is_at(t)) continue;
        ++at_once;
        for (const auto& [node, count] : one.gpus) sum[node] += count;
      }
      ASSERT_LE(at_once, ReservationBook::kAtOnceMax);
      for (const auto& [node, count] : sum) ASSERT_LE(count, book.machine.cluster.node_gpus[node]);
    }
  }
}

}  // namespace
}  // namespace fairlead
