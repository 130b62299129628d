#include "fairlead/torture/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

using State = Coverage::State;

TEST(Coverage, WhatACallCanMeetCountsOnceTheCallCame) {
  Coverage coverage;
  EXPECT_EQ(coverage.possible(), 0U);
  coverage.note(State::kRunning, IoCall::kFreeze);
  EXPECT_EQ(coverage.possible(), 4U);  // the daemon, the power, a failure, an end just before
  EXPECT_EQ(coverage.met(), 0U);
  coverage.note(State::kRunning, IoCall::kFreeze, covered_fault(&SimFaults::end_early));
  coverage.note(State::kRunning, IoCall::kFreeze, covered_fault(Outage::kPower));
  coverage.note(State::kRunning, IoCall::kFreeze, covered_fault(Outage::kPower));
  EXPECT_EQ(coverage.met(), 2U);
  EXPECT_EQ(coverage.possible(), 4U);
  EXPECT_EQ(coverage.missed(), (std::vector<std::string>{"crash at freeze, running",
                                                         "freeze_fails at freeze, running"}));
}

TEST(Coverage, AFaultThatStrikesBesideItsCallsDoesNotCount) {
  Coverage coverage;
  coverage.note(State::kRunning, IoCall::kFreeze);
  coverage.note(State::kRunning, IoCall::kFreeze, covered_fault(&SimFaults::late_notice));
  EXPECT_EQ(coverage.met(), 0U);
}

TEST(Coverage, IsReadAsItIsWrittenAndAddsUp) {
  Coverage one;
  one.note(State::kStopping, IoCall::kSync);
  one.note(State::kStopping, IoCall::kSync, covered_fault(&SimFaults::slow_sync));
  Coverage two;
  two.note(State::kIdle, IoCall::kPort);
  two.note(State::kIdle, IoCall::kPort, covered_fault(Outage::kDaemon));
  const auto read = Coverage::parse(two.text());
  ASSERT_TRUE(read);
  one.add(*read);
  EXPECT_EQ(one.met(), 2U);
  EXPECT_EQ(one.possible(), 6U);
  EXPECT_FALSE(Coverage::parse("01"));
  EXPECT_FALSE(Coverage::parse(std::string(one.text().size(), 'x')));
}

}  // namespace
}  // namespace fairlead
