// Reservations of GPUs under the daemon: who runs on them, at which time, after crashes, under every policy.

#include "fairlead/serve/testing_daemon.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr std::uint32_t kCy = 1002;
const std::vector<std::string> kLong = {"work", "6000000"};

struct ReservingDaemon : SimDaemon {
  explicit ReservingDaemon(std::string policy = std::string(kLocalPolicy),
                           const char* nodes = "4xV100")
      : SimDaemon(std::move(policy), nodes) {}

  std::int64_t unix_ms(int s) { return io.unix_ms(Time{} + seconds(s)); }
  HttpMessage reserve_for(json holder, int gpus, int from_s, int to_s, std::uint32_t uid = 0) {
    holder.update(
        {{"gpus", gpus}, {"from_unix_ms", unix_ms(from_s)}, {"to_unix_ms", unix_ms(to_s)}});
    return ask("POST", "/v1/reservations", holder, uid);
  }
  int reserve(std::uint32_t holder, int gpus, int from_s, int to_s) {
    const HttpMessage answer = reserve_for({{"user", io.user_name(holder)}}, gpus, from_s, to_s);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return json::parse(answer.body).value("id", 0);
  }
  std::vector<std::size_t> submit_some(int count, std::uint32_t uid, int gpus = 1) {
    std::vector<std::size_t> jobs;
    for (int i = 0; i < count; ++i) jobs.push_back(submit(kLong, gpus, uid));
    return jobs;
  }
  // Returns the GPUs on which processes of the user's jobs work.
  std::uint32_t working(std::uint32_t uid) const {
    const Tables& tables = server->tables();
    std::uint32_t gpus = 0;
    for (const auto& [name, task] : io.processes().all()) {
      const JobId job = task.id.job;
      const std::string& user = tables.users.names[tables.jobs.user[job]];
      if (task.is_alive() && task.is_thawed() && user == "user" + std::to_string(uid))
        gpus += tables.jobs.gpus[job];
    }
    return gpus;
  }
  std::string reservation_state(int id) {
    const json answer = json::parse(ask("GET", "/v1/reservations").body);
    for (const json& one : answer["reservations"])
      if (one["id"] == id) return one["state"].get<std::string>();
    return "over";
  }
  double gpu_s(const std::vector<std::size_t>& jobs) {
    double sum = 0;
    for (const std::size_t id : jobs) sum += job(id)["gpu_s"].get<double>();
    return sum;
  }
};

TEST(ServerReservations, ReservedGpusAreForTheHolderFromTheBeginToTheEnd) {
  ReservingDaemon daemon;
  const auto bobs = daemon.submit_some(4, kBob);
  const int id = daemon.reserve(kAnn, 2, 100, 800);
  daemon.run_to(99);
  EXPECT_EQ(daemon.reservation_state(id), "planned");
  EXPECT_EQ(daemon.working(kBob), 4U);
  daemon.run_to(102);
  EXPECT_EQ(daemon.reservation_state(id), "in force");
  EXPECT_EQ(daemon.working(kBob), 2U);
  const auto anns = daemon.submit_some(3, kAnn);
  daemon.run_to(110);
  EXPECT_GE(daemon.working(kAnn), 2U);
  for (int s = 120; s < 800; s += 10) {
    daemon.run_to(s);
    ASSERT_LE(daemon.working(kBob), 2U) << s;
    ASSERT_GE(daemon.working(kAnn), 2U) << s;
  }
  daemon.run_to(801);
  EXPECT_EQ(daemon.reservation_state(id), "over");
  for (const std::size_t job : anns) daemon.act(job, "cancel");
  daemon.run_to(900);
  EXPECT_EQ(daemon.working(kBob), 4U);
  for (const std::size_t job : bobs)
    EXPECT_EQ(daemon.job(job)["restarts"], 0) << "frozen, and not ended";
  EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
}

// The job of bob first ran on a GPU of ann's second job, and cannot leave it.
TEST(ServerReservations, APinnedJobOnGpusOfTheHolderIsHeldUntilTheEnd) {
  ReservingDaemon daemon(std::string(kLocalPolicy), "2xV100");
  daemon.submit_some(2, kAnn);
  daemon.run_to(10);
  const std::size_t bob = daemon.submit(kLong, 1, kBob);
  daemon.run_to(90);
  ASSERT_EQ(daemon.working(kBob), 1U);
  daemon.reserve(kAnn, 2, 100, 800);
  for (int s = 110; s < 800; s += 50) {
    daemon.run_to(s);
    ASSERT_EQ(daemon.working(kAnn), 2U) << s;
  }
  const std::string why = daemon.ask("GET", fmt::format("/v1/jobs/{}/why", bob)).body;
  EXPECT_NE(why.find("when its GPUs are no longer reserved for another user"), std::string::npos)
      << why;
  daemon.run_to(1000);
  EXPECT_EQ(daemon.working(kBob), 1U);
  EXPECT_EQ(daemon.job(bob)["restarts"], 0);
}

// A number of GPUs is reserved, and no particular ones.
TEST(ServerReservations, NoJobStopsIfEnoughGpusAreFree) {
  ReservingDaemon daemon;
  const auto bobs = daemon.submit_some(2, kBob);
  daemon.reserve(kAnn, 2, 100, 2000);
  daemon.run_to(99);
  const std::uint64_t records = daemon.server->records();
  daemon.run_to(130);
  EXPECT_EQ(daemon.working(kBob), 2U);
  EXPECT_LE(daemon.server->records(), records + 1) << "a snapshot";
}

TEST(ServerReservations, OthersTakeTurnsOnTheRest) {
  ReservingDaemon daemon;
  const auto bobs = daemon.submit_some(3, kBob);
  const auto cys = daemon.submit_some(3, kCy);
  const auto anns = daemon.submit_some(2, kAnn);
  daemon.reserve(kAnn, 2, 100, 20'000);
  daemon.run_to(200);
  const double bob_before = daemon.gpu_s(bobs), cy_before = daemon.gpu_s(cys),
               ann_before = daemon.gpu_s(anns);
  daemon.run_to(4200);
  EXPECT_NEAR(daemon.gpu_s(anns) - ann_before, 8000, 100);
  EXPECT_NEAR(daemon.gpu_s(bobs) - bob_before, 4000, 800);
  EXPECT_NEAR(daemon.gpu_s(cys) - cy_before, 4000, 800);
}

TEST(ServerReservations, AnUnusedReservationIsLentUntilItsHolderComes) {
  ReservingDaemon daemon;
  const auto bobs = daemon.submit_some(4, kBob);
  const int id = daemon.reserve(kAnn, 3, 100, 10'000);
  daemon.run_to(990);
  EXPECT_EQ(daemon.working(kBob), 1U);
  daemon.run_to(1010);
  EXPECT_EQ(daemon.reservation_state(id), "lent");
  EXPECT_EQ(daemon.working(kBob), 4U);
  daemon.run_to(2000);
  const std::size_t ann = daemon.submit({"work", "60000"}, 3, kAnn);
  daemon.run_to(2005);
  EXPECT_EQ(daemon.reservation_state(id), "in force");
  EXPECT_EQ(daemon.working(kAnn), 3U);
  EXPECT_EQ(daemon.working(kBob), 1U);
  daemon.await(ann);
  daemon.run_to(2900);
  EXPECT_EQ(daemon.working(kBob), 1U) << "ann may submit the next one";
  daemon.run_to(3000);
  EXPECT_EQ(daemon.working(kBob), 4U);
}

TEST(ServerReservations, SeveralHoldersAtOnce) {
  ReservingDaemon daemon;
  daemon.io.machine().add_to_group(kBob, "vision");
  daemon.reserve(kAnn, 1, 50, 5000);
  EXPECT_EQ(daemon.reserve_for({{"group", "vision"}}, 2, 60, 5000).status, 201);
  daemon.submit_some(4, kCy);
  daemon.run_to(49);
  EXPECT_EQ(daemon.working(kCy), 4U);
  daemon.run_to(55);
  EXPECT_EQ(daemon.working(kCy), 3U);
  daemon.submit_some(4, kBob);
  daemon.submit_some(4, kAnn);
  for (int s = 70; s < 1000; s += 10) {
    daemon.run_to(s);
    ASSERT_LE(daemon.working(kCy), 1U) << s;
    ASSERT_GE(daemon.working(kBob), 2U) << s;
    ASSERT_GE(daemon.working(kAnn), 1U) << s;
    ASSERT_EQ(daemon.working(kAnn) + daemon.working(kBob) + daemon.working(kCy), 4U) << s;
  }
}

TEST(ServerReservations, ACrashChangesNothingAtAnyStage) {
  for (const Outage outage : {Outage::kDaemon, Outage::kPower}) {
    ReservingDaemon daemon;
    const auto bobs = daemon.submit_some(4, kBob);
    const int id = daemon.reserve(kAnn, 2, 100, 400);
    daemon.fail(outage);
    EXPECT_EQ(daemon.reservation_state(id), "planned");
    daemon.run_to(90);
    EXPECT_EQ(daemon.working(kBob), 4U);
    daemon.fail(outage, seconds(20));  // the begin is while no daemon runs
    daemon.run_to(115);
    EXPECT_EQ(daemon.working(kBob), 2U);
    daemon.submit_some(2, kAnn);
    daemon.run_to(130);
    EXPECT_EQ(daemon.working(kAnn), 2U);
    daemon.fail(outage);
    daemon.run_to(160);
    EXPECT_EQ(daemon.working(kAnn), 2U);
    EXPECT_EQ(daemon.working(kBob), 2U);
    daemon.fail(outage, seconds(300));
    daemon.run_to(470);
    EXPECT_EQ(daemon.reservation_state(id), "over");
    EXPECT_EQ(daemon.working(kAnn) + daemon.working(kBob), 4U);
    EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
  }
}

// The daemon crashes at each call between two instants.
TEST(ServerReservations, ACrashAtAnyCallOfTheBeginChangesNothing) {
  for (std::uint64_t at = 1; at < 60; ++at) {
    ReservingDaemon daemon;
    daemon.submit_some(4, kBob);
    daemon.submit_some(1, kAnn);
    daemon.reserve(kAnn, 2, 100, 4000);
    daemon.run_to(98);
    daemon.io.calls().crash_after(at);
    const Time until = Time{} + seconds(105);
    while (daemon.io.time() < until && daemon.server->step().value_or(false)) {
    }
    daemon.fail(Outage::kDaemon);
    daemon.run_to(120);
    ASSERT_LE(daemon.working(kBob), 2U) << at;
    ASSERT_GE(daemon.working(kAnn), 1U) << at;
    ASSERT_EQ(daemon.io.processes().problems(), std::vector<std::string>()) << at;
  }
}

TEST(ServerReservations, AreRefusedWithTheTimeThatIsFree) {
  ReservingDaemon daemon;
  daemon.reserve(kAnn, 3, 1000, 2000);
  daemon.reserve(kBob, 2, 2000, 3000);
  const HttpMessage both = daemon.reserve_for({{"user", "cy"}}, 2, 500, 1500);
  EXPECT_EQ(both.status, 409);
  const json refusal = json::parse(both.body);
  EXPECT_EQ(refusal["free_gpus"], 1);
  EXPECT_EQ(refusal["free_from_unix_ms"], (daemon.unix_ms(2000) + 59'999) / 60'000 * 60'000)
      << both.body;
  EXPECT_EQ(daemon.reserve_for({{"user", "cy"}}, 2, 2000, 3000).status, 201);
  const auto error = [&](json holder, int gpus, int from, int to) {
    return json::parse(daemon.reserve_for(std::move(holder), gpus, from, to).body)
        .value("error", "");
  };
  EXPECT_EQ(error({{"user", "cy"}}, 5, 10, 20),
            "gpus must be a whole number from 1 to 4, the V100 GPUs of this machine");
  EXPECT_EQ(error({{"user", "cy"}}, 1, 30, 20),
            "the reservation ends before it begins, or is over");
  EXPECT_EQ(error({}, 1, 10, 20), "name either a user or a group");
  EXPECT_EQ(error({{"user", "cy"}, {"gpu_type", "K80"}}, 1, 10, 20),
            "gpu_type: there is no such type (there are: V100)");
}

TEST(ServerReservations, AdministratorsReserveAndHoldersMayCancel) {
  ReservingDaemon daemon;
  EXPECT_EQ(daemon.reserve_for({{"user", "user1000"}}, 1, 10, 20, kAnn).status, 403);
  const int id = daemon.reserve(kAnn, 1, 1000, 2000);
  const std::string target = fmt::format("/v1/reservations/{}/cancel", id);
  EXPECT_EQ(daemon.ask("POST", target, {}, kBob).status, 403);
  EXPECT_EQ(daemon.ask("POST", target, {}, kAnn).status, 200);
  EXPECT_EQ(daemon.ask("POST", target, {}, 0).status, 404);
  EXPECT_EQ(daemon.reservation_state(id), "over");
  EXPECT_EQ(daemon.ask_over_tcp("POST /v1/reservations", "Authorization: Bearer secret\r\n").status,
            403);
}

TEST(ServerReservations, WaitingJobsNameThem) {
  ReservingDaemon daemon;
  daemon.reserve(kAnn, 3, 50, 5000);
  daemon.submit(kLong, 1, kBob);
  daemon.run_to(60);
  const std::size_t wide = daemon.submit(kLong, 2, kCy);
  daemon.run_to(65);
  const json why = json::parse(daemon.why(wide));
  EXPECT_EQ(why["cause"], "reserved") << why;
  EXPECT_NE(
      why.dump().find("3 V100 GPUs are reserved for user1000 (reservation 1), for 1h 22m more."),
      std::string::npos)
      << why;
  const std::string metrics = daemon.ask("GET", "/metrics").body;
  EXPECT_NE(
      metrics.find(
          R"(fairlead_reserved_gpus{reservation="1",user="user1000",gpu_type="V100",state="in force"} 3)"),
      std::string::npos)
      << metrics;
}

// Policies that choose turns without the limits leave reserved GPUs idle at times (docs/lab-server.md).
// Three users share four GPUs, and ann reserves two of them. Returns the GPUs on which ann's jobs work on average.
// `order`: the users in the order in which they submit their jobs.
double holders_gpus(std::string policy, std::string_view order) {
  const std::string context = fmt::format("{}, {}", policy, order);
  ReservingDaemon daemon(std::move(policy));
  std::vector<std::size_t> anns;
  int begun_s = 0;
  for (const char user : order) {
    if (user == 'a') anns = daemon.submit_some(3, kAnn);
    if (user == 'b') daemon.submit_some(5, kBob);
    if (user == 'c') daemon.submit_some(2, kCy, 2);
    daemon.run_to(begun_s += 10);
  }
  daemon.reserve(kAnn, 2, 100, 30'000);
  daemon.run_to(900);
  const double had = daemon.gpu_s(anns);
  for (int s = 900; s < 5000; s += 50) {
    daemon.run_to(s);
    EXPECT_LE(daemon.working(kBob) + daemon.working(kCy), 2U) << context << " " << s;
  }
  return (daemon.gpu_s(anns) - had) / 4050;
}

TEST(ServerReservations, KeepOthersAwayUnderEveryPolicy) {
  for (const char* policy : {"fifo", "fifo:skip=true", "srtf", "tiresias", "gandiva",
                             "gandiva-fair", "gandiva-fair:resident=true", "gavel", "optimus",
                             "dally", "hadar", "stride", "fairlead", "slurm"}) {
    const std::string_view name(policy);
    const bool has_own_turns = name == "gavel" || name == "stride";
    EXPECT_GE(holders_gpus(policy, "abc"), has_own_turns ? 0.95 : 1.95) << policy;
  }
}

// Jobs are frozen on the GPUs where they first ran, so jobs of others may be on all GPUs that the holder's can use.
TEST(ServerReservations, AreForTheHolderInEachOrderOfArrival) {
  for (const std::string_view policy :
       {kLocalPolicy, std::string_view("fairlead"), std::string_view("hadar"),
        std::string_view("dally"), std::string_view("gandiva-fair")}) {
    for (const char* order : {"acb", "bac", "bca", "cab", "cba"})
      EXPECT_GE(holders_gpus(std::string(policy), order), 1.95) << policy << " " << order;
  }
}

}  // namespace
}  // namespace fairlead
