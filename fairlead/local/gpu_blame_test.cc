#include "fairlead/local/gpu_blame.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using Gpus = std::vector<std::uint32_t>;

class BlameTest : public testing::Test {
 protected:
  GpuBlame::Try of(const char* user, Gpus gpus, std::size_t job = 0,
                   const char* program = "train.py") {
    const JobId id(job == 0 ? ++jobs_ : job);
    return {.task = {id, ++runs_}, .user = user, .program = program, .gpus = std::move(gpus)};
  }
  void fail(const GpuBlame::Try& what, bool is_retried = false) {
    now_ = now_ + seconds(1);
    blame_.on_failed(now_, what, "exit code 1", is_retried,
                     [this](std::span<const std::uint32_t>) { return has_room_; });
  }
  void pass(Duration time) {
    now_ = now_ + time;
    blame_.on_time(now_);
  }
  Gpus closed() const {
    Gpus gpus;
    for (const auto& [gpu, closing] : blame_.closed()) gpus.push_back(gpu);
    return gpus;
  }
  bool is_final(std::uint32_t gpu) const { return blame_.closed().at(gpu).until == Time::never(); }

  GpuBlame blame_;
  bool has_room_ = true;
  Time now_;

 private:
  std::size_t jobs_ = 100;
  RunId runs_ = 0;
};

TEST_F(BlameTest, TheFailureOfOneJobClosesNothing) {
  fail(of("ann", {3}));
  EXPECT_EQ(closed(), Gpus());
  EXPECT_TRUE(blame_.is_suspect(3));
}

TEST_F(BlameTest, FailuresOfTwoUsersCloseAGpuForGood) {
  fail(of("ann", {3}, 12));
  fail(of("bob", {3}, 15));
  EXPECT_EQ(closed(), Gpus{3});
  EXPECT_TRUE(is_final(3));
  EXPECT_EQ(blame_.closed().at(3).reason,
            "job 12 of ann, job 15 of bob failed at once on it (exit code 1)");
  blame_.open(3);
  EXPECT_EQ(closed(), Gpus());
  EXPECT_FALSE(blame_.is_suspect(3));
}

TEST_F(BlameTest, AGoodTaskInBetweenClearsTheGpu) {
  fail(of("ann", {3}));
  blame_.on_good(of("cy", {2, 3}));
  fail(of("bob", {3}));
  EXPECT_EQ(closed(), Gpus());
}

TEST_F(BlameTest, FailuresOfOneUserGiveTheGpuARest) {
  fail(of("ann", {3}));
  fail(of("ann", {3}));
  EXPECT_EQ(closed(), Gpus{3});
  EXPECT_FALSE(is_final(3));
  pass(kRest);
  EXPECT_EQ(closed(), Gpus());
  fail(of("ann", {3}));
  EXPECT_TRUE(is_final(3));
}

TEST_F(BlameTest, WithoutAComparisonOneUserClosesNothing) {
  has_room_ = false;
  for (int i = 0; i < 5; ++i) fail(of("ann", {0}), true);
  EXPECT_EQ(closed(), Gpus());
  fail(of("bob", {0}));
  EXPECT_EQ(closed(), Gpus{0});
}

TEST_F(BlameTest, ARetryElsewhereLeavesTheGpuClosed) {
  fail(of("ann", {3}, 12), true);
  EXPECT_EQ(closed(), Gpus{3});
  blame_.on_good(of("ann", {1}, 12));
  EXPECT_EQ(closed(), Gpus{3});
}

TEST_F(BlameTest, AJobThatFailsElsewhereTooFailsByItself) {
  for (int i = 0; i < 5; ++i) {
    fail(of("ann", {3}, 12), true);
    fail(of("ann", {1}, 12), true);
    EXPECT_EQ(closed(), Gpus());
    EXPECT_FALSE(blame_.is_suspect(3) || blame_.is_suspect(1));
  }
}

TEST_F(BlameTest, AProgramThatIsGoodElsewhereKeepsTheGpuClosed) {
  fail(of("ann", {3}));
  fail(of("bob", {3}));
  blame_.on_good(of("ann", {1}));
  blame_.on_good(of("bob", {1}));
  fail(of("ann", {2}));
  fail(of("bob", {1}));
  EXPECT_EQ(closed(), Gpus{3});
}

TEST_F(BlameTest, TheFailuresOfABrokenProgramDoNotKeepAGpuClosed) {
  fail(of("ann", {3}, 0, "typo.py"));
  fail(of("bob", {3}));
  EXPECT_EQ(closed(), Gpus{3});
  fail(of("ann", {1}, 0, "typo.py"));
  EXPECT_EQ(closed(), Gpus());
  EXPECT_TRUE(blame_.is_suspect(3));
}

TEST_F(BlameTest, OfAGangTheGpusThatOthersUseAreCleared) {
  fail(of("ann", {0, 1}));
  blame_.on_good(of("bob", {1}));
  fail(of("bob", {0}));
  EXPECT_EQ(closed(), Gpus{0});
  EXPECT_TRUE(is_final(0));
}

TEST_F(BlameTest, TheGpusOfAGangRestTogether) {
  fail(of("ann", {0, 1}));
  fail(of("bob", {0, 1}));
  EXPECT_EQ(closed(), (Gpus{0, 1}));
  EXPECT_FALSE(is_final(0));
  blame_.on_good(of("cy", {1}));  // it had it already
  EXPECT_EQ(closed(), Gpus{0});
}

}  // namespace
}  // namespace fairlead
