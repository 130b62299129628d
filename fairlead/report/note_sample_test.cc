#include "fairlead/report/note_sample.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

Note pass(std::int64_t value) { return note::Pass{JobId(0), {value}}; }

TEST(NoteSample, KeepsAllThatFits) {
  NoteSample sample(3);
  for (std::int64_t i = 0; i < 3; ++i) sample.add({i}, pass(i));
  EXPECT_EQ(sample.notes().size(), 3U);
  EXPECT_EQ(sample.omitted(), 0);
}

TEST(NoteSample, ThinsTheMostFrequentKindEvenlyAndKeepsTheRare) {
  NoteSample sample(100);
  for (std::int64_t i = 0; i < 1000; ++i) {
    sample.add({i}, pass(i));
    if (i % 50 == 0) sample.add({i}, note::Trade{});
  }
  std::int64_t trades = 0;
  std::int64_t last = -16;
  for (const auto& [t, kept] : sample.notes()) {
    if (std::holds_alternative<note::Trade>(kept)) {
      ++trades;
    } else {
      const std::int64_t value = fields_of(kept).value;
      EXPECT_EQ(value, last + 16);  // 1000 / 16 fit beside 20 trades, 1000 / 8 do not
      last = value;
    }
  }
  EXPECT_EQ(trades, 20);
  EXPECT_LE(sample.notes().size(), 100U);
  EXPECT_EQ(sample.omitted(), 1020 - static_cast<std::int64_t>(sample.notes().size()));
}

TEST(NoteSample, StaysInTheOrderOfTime) {
  NoteSample sample(10);
  for (std::int64_t i = 0; i < 500; ++i) {
    sample.add({i}, note_of(static_cast<std::size_t>(i % 3), {}));
  }
  for (std::size_t i = 1; i < sample.notes().size(); ++i) {
    EXPECT_LT(sample.notes()[i - 1].t, sample.notes()[i].t);
  }
  EXPECT_FALSE(sample.notes().empty());
}

}  // namespace
}  // namespace fairlead
