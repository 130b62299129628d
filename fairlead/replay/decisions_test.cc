#include "fairlead/replay/decisions.h"

#include "fairlead/journal/testing_journal.h"

#include <gtest/gtest.h>

#include <functional>

namespace fairlead {
namespace {

using Write = std::function<void(TestJournal&)>;

std::vector<Decision> decisions_of(const Write& write) {
  std::vector<Decision> decisions;
  DecisionReader reader([&](const Decision& decision) { decisions.push_back(decision); });
  TestJournal journal(reader);
  journal.begin(3, {1});
  write(journal);
  journal.end(9000, {});
  return decisions;
}

std::uint64_t digest_of(const Write& write) {
  const std::vector<Decision> decisions = decisions_of(write);
  EXPECT_EQ(decisions.size(), 1U);
  return decisions.front().digest();
}

TEST(DecisionReader, ADecisionIsWhatHappensAtOneTime) {
  const auto decisions = decisions_of([](TestJournal& journal) {
    journal.arrive(0, 0, {});
    journal.arrive(0, 1, {});
    journal.place(0, 1, {.gang = {{NodeId(0), 1}}});
    journal.place(0, 0, {.gang = {{NodeId(1), 2}}});
    journal.speed(500, 1, 0.5);  // no decision
    journal.happen<record::Stop>(1000, 1);
    journal.node<record::GpusDown>(2000, 1);
  });
  ASSERT_EQ(decisions.size(), 3U);
  EXPECT_EQ(decisions[0].t, Time{0});
  EXPECT_EQ(decisions[0].events.size(), 2U);
  ASSERT_EQ(decisions[0].steps.size(), 2U);
  EXPECT_EQ(decisions[0].steps[0].job, JobId(0));  // sorted by job, not in order of arrival
  EXPECT_EQ(decisions[0].steps[0].gang, (std::vector<Slice>{{NodeId(1), 2}}));
  EXPECT_TRUE(decisions[1].events.empty());
  EXPECT_TRUE(decisions[1].steps[0].stop);
  EXPECT_EQ(decisions[2].events[0].node, NodeId(1));
}

TEST(Decision, TheOrderOfStepsDoesNotMatter) {
  const auto a = [](TestJournal& journal) {
    journal.place(0, 0, {.gang = {{NodeId(0), 1}}});
    journal.happen<record::Stop>(0, 2);
    journal.place(0, 2, {.gang = {{NodeId(1), 1}}});
  };
  const auto b = [](TestJournal& journal) {
    journal.happen<record::Stop>(0, 2);
    journal.place(0, 2, {.gang = {{NodeId(1), 1}}});
    journal.place(0, 0, {.gang = {{NodeId(0), 1}}});
  };
  EXPECT_EQ(digest_of(a), digest_of(b));
}

TEST(Decision, EverythingElseMatters) {
  const std::vector<Write> different = {
      [](TestJournal& j) {
        j.place(0, 0, {.gang = {{NodeId(0), 1}}});
      },
      [](TestJournal& j) {
        j.place(1, 0, {.gang = {{NodeId(0), 1}}});
      },
      [](TestJournal& j) {
        j.place(0, 1, {.gang = {{NodeId(0), 1}}});
      },
      [](TestJournal& j) {
        j.place(0, 0, {.gang = {{NodeId(1), 1}}});
      },
      [](TestJournal& j) {
        j.place(0, 0, {.gang = {{NodeId(0), 2}}});
      },
      [](TestJournal& j) {
        j.place(0, 0, {.gang = {{NodeId(0), 1}, {NodeId(1), 1}}});
      },
      [](TestJournal& j) { j.happen<record::Stop>(0, 0); },
      [](TestJournal& j) { j.happen<record::Finished>(0, 0); },
      [](TestJournal& j) { j.arrive(0, 0, {}); },
      [](TestJournal& j) { j.node<record::GpusDown>(0, 0); },
      [](TestJournal& j) { j.node<record::GpusUp>(0, 0); },
  };
  for (std::size_t a = 0; a < different.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_NE(digest_of(different[a]), digest_of(different[b])) << a << " " << b;
    }
  }
}

TEST(DecisionMatcher, CountsWhatAgreesAndKeepsTheFirstThatDoesNot) {
  std::vector<std::uint64_t> expected;
  DecisionReader reader([&](const Decision& d) { expected.push_back(d.digest()); });
  const auto write = [](RecordSink& sink, std::size_t third) {
    TestJournal journal(sink);
    journal.begin(3, {1});
    for (std::size_t i = 0; i < third; ++i) {
      journal.arrive(static_cast<std::int64_t>(i), i, {});
    }
    journal.end(9000, {});
  };
  write(reader, 2);

  DecisionMatcher same(expected);
  write(same, 2);
  EXPECT_EQ(same.match().agreed, 2U);
  EXPECT_FALSE(same.match().other.has_value());

  DecisionMatcher more(expected);
  write(more, 3);
  EXPECT_EQ(more.match().agreed, 2U);
  ASSERT_TRUE(more.match().other.has_value());
  EXPECT_EQ(more.match().other->t, Time{2});

  DecisionMatcher less(expected);
  write(less, 1);
  EXPECT_EQ(less.match().agreed, 1U);
  EXPECT_FALSE(less.match().other.has_value());
}

}  // namespace
}  // namespace fairlead
