#include "fairlead/local/gpu_memory_book.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr JobId kA(1), kB(2), kC(3);
const std::vector<std::uint32_t> kFirst = {0};

bool none_is_gone(JobId /*job*/) { return false; }

TEST(GpuMemoryBook, JobsFitIfTheirStatementsDo) {
  GpuMemoryBook book(2);
  book.set_report(std::vector<GpuMemory>{{80'000, 0}, {40'000, 0}});
  book.add(kA, kFirst, 50'000);
  EXPECT_TRUE(book.fits(0, kB, 30'000, none_is_gone));
  EXPECT_FALSE(book.fits(0, kB, 30'001, none_is_gone));
  EXPECT_TRUE(book.fits(1, kB, 40'000, none_is_gone));
  EXPECT_FALSE(book.fits(1, kB, 40'001, none_is_gone));
  EXPECT_TRUE(book.fits(0, kA, 80'000, none_is_gone)) << "a job is not in its own way";
  EXPECT_TRUE(book.fits(0, kB, 80'000, [](JobId other) { return other == kA; }));
  book.remove(kA);
  EXPECT_TRUE(book.fits(0, kB, 80'000, none_is_gone));
}

TEST(GpuMemoryBook, JobsThatStateNoneCountWithTheRestOfTheReport) {
  GpuMemoryBook book(1);
  book.set_report(std::vector<GpuMemory>{{80'000, 45'000}});
  EXPECT_TRUE(book.fits(0, kC, 80'000, none_is_gone)) << "memory of processes that have ended";
  book.add(kA, kFirst, 30'000);
  book.add(kB, kFirst, 0);
  EXPECT_TRUE(book.fits(0, kC, 35'000, none_is_gone));
  EXPECT_FALSE(book.fits(0, kC, 35'001, none_is_gone));
  EXPECT_TRUE(book.fits(0, kC, 50'000, [](JobId other) { return other == kB; }));
}

TEST(GpuMemoryBook, EverythingFitsOnAGpuOfUnknownMemory) {
  GpuMemoryBook book(1);
  book.add(kA, kFirst, 50'000);
  EXPECT_TRUE(book.fits(0, kB, 1'000'000, none_is_gone));
}

TEST(GpuMemoryBook, TheLatestJobIsFirst) {
  GpuMemoryBook book(1);
  book.add(kA, kFirst, 1);
  book.add(kC, kFirst, 1);
  book.add(kB, kFirst, 1);
  EXPECT_EQ(book.jobs_on(0), (std::vector<JobId>{kC, kB, kA}));
}

}  // namespace
}  // namespace fairlead
