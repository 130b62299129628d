#include "fairlead/kube/lease.h"

#include "fairlead/kube/fake_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace fairlead {
namespace {

constexpr const char* kPath = "/apis/coordination.k8s.io/v1/namespaces/default/leases/fairlead";

// A scheduler that wants to lead.
struct Candidate {
  explicit Candidate(FakeServer& server, const std::string& identity)
      : door(server.open()), lease(*door, {.identity = identity}) {}
  // Performs all due actions without waiting.
  void act() {
    lease.wake();
    for (KubeEvent event = door->wait(door->now()); event.kind != KubeEvent::Kind::kTime;
         event = door->wait(door->now())) {
      lease.handle(event);
    }
    lease.wake();
  }
  bool leads() const { return lease.is_leader(door->now()); }
  std::unique_ptr<KubeDoor> door;
  Lease lease;
};

class LeaseTest : public testing::Test {
 protected:
  void run_for(Duration d, const std::vector<Candidate*>& who) {
    for (const Time end = server_.now() + d; server_.now() < end;) {
      server_.run_until(server_.now() + milliseconds(20));
      for (Candidate* candidate : who) candidate->act();
      EXPECT_LE(std::ranges::count_if(who, [](const Candidate* c) { return c->leads(); }), 1);
    }
  }
  Json stored() {
    const FakeObject lease =
        server_.store().find({"/apis/coordination.k8s.io/v1/leases", "default", "fairlead"});
    return lease ? *lease : Json();
  }
  FakeServer server_{1};
  Candidate one_{server_, "one"};
  Candidate two_{server_, "two"};
};

TEST_F(LeaseTest, TheFirstMakesItAndLeadsAsLongAsItRenews) {
  run_for(seconds(1), {&one_});
  EXPECT_TRUE(one_.leads());
  run_for(seconds(60), {&one_, &two_});
  EXPECT_TRUE(one_.leads());
  EXPECT_FALSE(two_.leads());
  EXPECT_EQ(two_.lease.holder(), "one");
  EXPECT_EQ(text_at(stored(), {"spec", "holderIdentity"}), "one");
  EXPECT_EQ(integer_at(stored(), {"spec", "leaseDurationSeconds"}), 15);
}

TEST_F(LeaseTest, OneThatStandsStillLeadsNoMoreAfterTenSecondsAndIsReplacedAfterFifteen) {
  run_for(seconds(10), {&one_, &two_});
  ASSERT_TRUE(one_.leads());
  run_for(seconds(11), {&two_});
  EXPECT_FALSE(one_.leads());
  EXPECT_FALSE(two_.leads());
  run_for(seconds(8), {&two_});
  EXPECT_TRUE(two_.leads());
  EXPECT_EQ(two_.lease.transitions(), 1);
  run_for(seconds(5), {&one_, &two_});
  EXPECT_TRUE(two_.leads());
  EXPECT_EQ(one_.lease.holder(), "two");
}

TEST_F(LeaseTest, OneThatReleasesIsReplacedWithinSeconds) {
  run_for(seconds(10), {&one_, &two_});
  EXPECT_NE(one_.lease.release(), 0U);
  EXPECT_FALSE(one_.leads());
  run_for(seconds(3), {&one_, &two_});
  EXPECT_TRUE(two_.leads());
  EXPECT_EQ(two_.lease.release() != 0, true);
  EXPECT_EQ(one_.lease.release(), 0U);
}

TEST_F(LeaseTest, AnAnswerThatIsLostCostsNoLeadership) {
  run_for(seconds(10), {&one_});
  server_.fail_next("PUT", "leases", {FakeFault::Kind::kLostAnswer});
  for (int i = 0; i < 1000; ++i) {
    run_for(milliseconds(20), {&one_, &two_});
    EXPECT_TRUE(one_.leads());
  }
}

TEST_F(LeaseTest, AWriteThatTakesEffectLateHarmsNothing) {
  run_for(seconds(10), {&one_});
  server_.fail_next("PUT", "leases", {FakeFault::Kind::kLate});
  run_for(seconds(60), {&one_, &two_});
  EXPECT_TRUE(one_.leads());
  EXPECT_EQ(one_.lease.transitions(), 0);
}

TEST_F(LeaseTest, WithoutAServerNoOneLeads) {
  run_for(seconds(10), {&one_, &two_});
  server_.go_away(seconds(30));
  run_for(seconds(11), {&one_, &two_});
  EXPECT_FALSE(one_.leads());
  EXPECT_NE(one_.lease.trouble(), "");
  run_for(seconds(40), {&one_, &two_});
  EXPECT_TRUE(one_.leads() || two_.leads());
}

TEST_F(LeaseTest, ALeaseThatAnAdministratorDeletesIsMadeAgain) {
  run_for(seconds(10), {&one_});
  server_.act("DELETE", kPath);
  run_for(seconds(8), {&one_});
  EXPECT_TRUE(one_.leads());
  EXPECT_FALSE(stored().is_null());
}

TEST_F(LeaseTest, TheCalendarOfOthersDoesNotMatter) {
  server_.act("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases",
              {{"metadata", {{"name", "fairlead"}}},
               {"spec",
                {{"holderIdentity", "old"},
                 {"leaseDurationSeconds", 15},
                 {"renewTime", "2001-01-01T00:00:00.000000Z"}}}});
  run_for(seconds(14), {&one_});
  EXPECT_FALSE(one_.leads()) << "it may be renewed still, by one whose calendar is wrong";
  run_for(seconds(5), {&one_});
  EXPECT_TRUE(one_.leads());
}

TEST(Leases, ThereAreNeverTwoLeadersWhateverGoesWrong) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FakeServer server(seed);
    server.set_rates({.conflict = 0.1,
                      .too_many = 0.05,
                      .internal = 0.1,
                      .lost_request = 0.1,
                      .lost_answer = 0.1,
                      .late = 0.1});
    std::array<Candidate, 3> all = {Candidate{server, "a"}, Candidate{server, "b"},
                                    Candidate{server, "c"}};
    Rng rng(seed);
    std::array<Time, 3> asleep_until;
    int led = 0;
    for (int i = 0; i < 10'000; ++i) {
      server.run_until(server.now() + milliseconds(50));
      if (rng.below(2000) == 0) server.go_away(seconds(20));
      int leaders = 0;
      for (std::size_t c = 0; c < all.size(); ++c) {
        if (rng.below(500) == 0) asleep_until[c] = server.now() + seconds(20);
        if (server.now() >= asleep_until[c]) all[c].act();
        leaders += all[c].leads() ? 1 : 0;
      }
      EXPECT_LE(leaders, 1) << "seed " << seed;
      led += leaders;
    }
    EXPECT_GT(led, 2000) << "seed " << seed;
    server.set_rates({});
  }
}

}  // namespace
}  // namespace fairlead
