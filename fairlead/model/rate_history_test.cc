#include "fairlead/model/rate_history.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

const JobId kJob(3);

TEST(RateHistory, OfOneRateIsItsProduct) {
  const RateHistory history;
  const RateHistory::Stretch present = {Time{100}, Time{400}, Rate::of(0.5)};
  EXPECT_EQ(history.done_in_last(kJob, {200}, present), progress(Rate::of(0.5), {200}));
  EXPECT_EQ(history.done_in_last(kJob, {900}, present), progress(Rate::of(0.5), {300}))
      << "nothing was done before it began";
  EXPECT_EQ(history.done_in_last(kJob, {}, present), Work{});
}

TEST(RateHistory, AddsUpTheStretchesBackToTheMoment) {
  RateHistory history;
  history.add(kJob, {Time{0}, Time{100}, Rate::of(1)});
  history.add(kJob, {Time{100}, Time{150}, Rate::of(0.25)});
  const RateHistory::Stretch present = {Time{150}, Time{200}, Rate::of(2)};
  const Work all =
      progress(Rate::of(1), {100}) + progress(Rate::of(0.25), {50}) + progress(Rate::of(2), {50});
  EXPECT_EQ(history.done_in_last(kJob, {200}, present), all);
  EXPECT_EQ(history.done_in_last(kJob, {70}, present),
            progress(Rate::of(0.25), {20}) + progress(Rate::of(2), {50}));
}

TEST(RateHistory, ForgetsARunAndKnowsJobsApart) {
  RateHistory history;
  history.add(kJob, {Time{0}, Time{100}, Rate::of(1)});
  const RateHistory::Stretch present = {Time{100}, Time{100}, Rate::of(1)};
  EXPECT_EQ(history.done_in_last(JobId(4), {50}, present), Work{});
  history.clear(kJob);
  EXPECT_EQ(history.done_in_last(kJob, {50}, present), Work{});
}

}  // namespace
}  // namespace fairlead
