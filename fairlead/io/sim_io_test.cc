#include "fairlead/io/sim_io.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

namespace fairlead {
namespace {

std::span<const std::uint8_t> bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string read(Io& io, const std::string& name) { return io.read(name).value_or("(none)"); }

// The messages that clients receive.
struct Heard : SimClients {
  void wake(std::uint64_t token) override { woken.push_back(token); }
  void received(ConnectionId, std::string_view bytes) override { text += bytes; }
  void closed(ConnectionId connection) override { ended.push_back(connection); }
  std::vector<std::uint64_t> woken;
  std::string text;
  std::vector<ConnectionId> ended;
};

TEST(SimIo, TimePassesToTheNextThingAndNeverBack) {
  SimIo io(1, {});
  EXPECT_EQ(io.wait({500}).kind, IoEvent::Kind::kTime);
  EXPECT_EQ(io.now(), (Time{500}));
  EXPECT_EQ(io.wait({100}).kind, IoEvent::Kind::kTime);
  EXPECT_EQ(io.now(), (Time{500}));
  const ConnectionId id = io.network().connect({.uid = 7});
  io.network().send(id, "hello", milliseconds(30));
  const IoEvent connected = io.wait({1000});
  EXPECT_EQ(connected.kind, IoEvent::Kind::kConnected);
  EXPECT_EQ(connected.peer.uid, 7U);
  const IoEvent received = io.wait({1000});
  EXPECT_EQ(received.bytes, "hello");
  EXPECT_EQ(io.now(), (Time{530}));
  EXPECT_EQ(io.unix_ms({530}) - io.unix_ms({500}), 30);
}

TEST(SimIo, TheCalendarStepsWhileTheTimeGoesOn) {
  SimIo io(1, {.calendar = 1});
  const std::int64_t before = io.unix_ms({});
  io.wait({10});
  EXPECT_EQ(io.now(), (Time{10}));
  EXPECT_NE(io.unix_ms({}), before);
}

TEST(SimIo, ADaemonThatStoodStillIsTold) {
  SimIo io(1, {.stall = 1});
  io.wait({1000});
  EXPECT_GT(io.now(), (Time{1000}));
}

TEST(SimIo, ClientsAreServedUntilEitherSideHangsUp) {
  SimIo io(1, {});
  Heard heard;
  io.network().set_clients(&heard);
  const ConnectionId one = io.network().connect({});
  const ConnectionId two = io.network().connect({});
  io.wait({0});
  io.wait({0});
  io.send(one, "answer");
  io.close(one);
  io.send(one, "lost");
  EXPECT_EQ(heard.text, "answer");
  EXPECT_EQ(heard.ended, std::vector{one});
  io.network().hang_up(two, milliseconds(5));
  EXPECT_EQ(io.wait({100}).kind, IoEvent::Kind::kClosed);
  EXPECT_EQ(io.network().size(), 0U);
  io.network().wake(9, {50});
  EXPECT_EQ(io.wait({100}).kind, IoEvent::Kind::kTime);
  EXPECT_EQ(heard.woken, std::vector<std::uint64_t>{9});
}

TEST(SimIo, ACrashOfTheDaemonLosesNothingThatItWrote) {
  SimIo io(1, {});
  ASSERT_TRUE(io.write("jobs/1", "one"));
  auto file = io.append_to("journal", 0);
  ASSERT_TRUE((*file)->append(bytes("abc")));
  file->reset();
  io.restart(Outage::kDaemon, seconds(5));
  EXPECT_EQ(read(io, "journal"), "abc");
  EXPECT_EQ(read(io, "jobs/1"), "one");
  EXPECT_EQ(io.list("jobs"), std::vector<std::string>{"1"});
}

TEST(SimIo, ALossOfPowerKeepsWhatWasSyncedAndTearsTheRest) {
  bool is_torn = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimIo io(seed, {});
    ASSERT_TRUE(io.write("jobs/1", "one"));
    auto file = io.append_to("journal", 0);
    ASSERT_TRUE((*file)->append(bytes("abc")));
    ASSERT_TRUE((*file)->sync());
    ASSERT_TRUE((*file)->append(bytes("defghi")));
    file->reset();
    io.restart(Outage::kPower, {});
    EXPECT_EQ(read(io, "jobs/1"), "one");
    const std::string journal = read(io, "journal");
    EXPECT_EQ(journal.substr(0, 3), "abc");
    EXPECT_LE(journal.size(), 9U);
    is_torn = is_torn || (journal.size() > 3 && journal.size() < 9);
  }
  EXPECT_TRUE(is_torn);
}

TEST(SimIo, AppendingCutsTheFileAndStreamsIt) {
  SimIo io(1, {});
  ASSERT_TRUE(io.write("journal", "abcdef"));
  auto file = io.append_to("journal", 2);
  ASSERT_TRUE((*file)->append(bytes("x")));
  EXPECT_EQ(read(io, "journal"), "abx");
  auto source = io.stream("journal");
  EXPECT_EQ(*source->peek(100), "abx");
  auto none = io.stream("nothing");
  EXPECT_EQ(*none->peek(1), "");
}

TEST(SimIo, AFullDiskTakesNoMoreAndKeepsWhatItHas) {
  SimIo io(1, {.disk_full = 1});
  EXPECT_FALSE(io.write("a", "new"));
  io.faults().stop();
  EXPECT_TRUE(io.write("a", "new"));
}

TEST(SimIo, FromTheCallAtWhichItCrashedADaemonHasNoEffect) {
  SimIo io(1, {});
  io.calls().crash_after(2);
  EXPECT_TRUE(io.write("a", "1"));
  EXPECT_TRUE(io.write("b", "2"));
  EXPECT_FALSE(io.write("c", "3"));
  EXPECT_TRUE(io.calls().is_dead());
  EXPECT_FALSE(io.start({.id = {JobId(0), 1}, .command = {"work", "10"}}));
  EXPECT_EQ(io.wait({100}).kind, IoEvent::Kind::kTerminate);
  EXPECT_EQ(io.network().connect({}), 0U);
  io.restart(Outage::kDaemon, seconds(1));
  EXPECT_EQ(io.list(""), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(io.tasks().empty());
  EXPECT_EQ(io.wait({5000}).kind, IoEvent::Kind::kTime);
}

TEST(SimIo, TasksGoOnWithoutTheDaemonAndItFindsTheirEnds) {
  SimIo io(1, {});
  ASSERT_TRUE(io.start({.id = {JobId(0), 1}, .command = {"work", "10000"}}));
  ASSERT_TRUE(io.start({.id = {JobId(1), 1}, .command = {"work", "1000", "exit=4"}}));
  io.restart(Outage::kDaemon, seconds(5));
  const std::vector<TaskStatus> found = io.tasks();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].state, TaskStatus::State::kRunning);
  EXPECT_EQ(found[1].state, TaskStatus::State::kEnded);
  EXPECT_EQ(found[1].end.code, 4);
  io.forget({JobId(1), 1});
  const IoEvent event = io.wait(Time{60'000});
  EXPECT_EQ(event.kind, IoEvent::Kind::kTaskEnded);
  EXPECT_EQ(event.task, (TaskId{JobId(0), 1}));
  EXPECT_EQ(event.end, TaskEnd());
}

TEST(SimIo, AnEndMayBeToldTwice) {
  SimIo io(1, {.told_twice = 1});
  ASSERT_TRUE(io.start({.id = {JobId(0), 1}, .command = {"work", "1000"}}));
  EXPECT_EQ(io.wait({60'000}).kind, IoEvent::Kind::kTaskEnded);
  EXPECT_EQ(io.wait({60'000}).kind, IoEvent::Kind::kTaskEnded);
  EXPECT_EQ(io.wait({60'000}).kind, IoEvent::Kind::kTime);
}

TEST(SimIo, AskedToLeaveADaemonIsToldAtItsNextWait) {
  SimIo io(1, {});
  io.terminate();
  EXPECT_EQ(io.wait({10}).kind, IoEvent::Kind::kTerminate);
}

// Returns starts and ends, connections and waits as one text.
std::string story(std::uint64_t seed) {
  SimIo io(seed, {.start_fails = 0.2, .late_notice = 0.3, .told_twice = 0.3, .stall = 0.1});
  std::string text;
  for (std::size_t job = 0; job < 30; ++job) {
    const bool ok = io.start({.id = {JobId(job), 1}, .command = {"work", "3000"}}).has_value();
    const IoEvent event = io.wait(io.now() + seconds(1));
    text += fmt::format("{} {} {};", ok, static_cast<int>(event.kind), io.now().ms);
  }
  return text;
}

TEST(SimIo, EqualSeedsMakeEqualWorlds) {
  EXPECT_EQ(story(3), story(3));
  EXPECT_NE(story(3), story(4));
}

}  // namespace
}  // namespace fairlead
