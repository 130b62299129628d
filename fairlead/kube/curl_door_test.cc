#include "fairlead/kube/curl_door.h"

#include "fairlead/kube/testing_http.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/eventfd.h>
#include <unistd.h>

namespace fairlead {
namespace {

namespace fs = std::filesystem;
using Kind = KubeEvent::Kind;

constexpr Duration kLong = seconds(60);

std::unique_ptr<CurlDoor> open_door(const std::string& url, const KubeUser& user = {},
                                    int leave = -1) {
  KubeTarget target;
  target.cluster.server = url;
  target.user = user;
  auto door = CurlDoor::open(std::move(target), leave);
  EXPECT_TRUE(door.has_value()) << door.error().message;
  return std::move(*door);
}

KubeEvent next(KubeDoor& door) { return door.wait(door.now() + kLong); }

// Returns the lines of a stream up to its end, as "line", "END 200".
std::vector<std::string> all_of(KubeDoor& door) {
  std::vector<std::string> told;
  while (true) {
    const KubeEvent event = next(door);
    if (event.kind != Kind::kLine) {
      told.push_back(fmt::format("END {}", event.status));
      return told;
    }
    told.push_back(event.text);
  }
}

TEST(CurlDoor, ACallHasItsMethodPathBodyAndToken) {
  TestingHttp server([](const std::string&) { return TestingHttp::answer(201, R"({"a": 1})"); });
  KubeUser user;
  user.token.data = "secret";
  const auto door = open_door(server.url() + "/prefix", user);
  const CallId id = door->call({"PATCH", "/api/v1/x?a=b", R"({"b": 2})", std::string(kMergePatch)});
  const KubeEvent event = next(*door);
  EXPECT_EQ(event.kind, Kind::kAnswer);
  EXPECT_EQ(event.call, id);
  EXPECT_EQ(event.status, 201);
  EXPECT_EQ(event.text, R"({"a": 1})");
  const std::string request = server.requests().at(0);
  EXPECT_TRUE(request.starts_with("PATCH /prefix/api/v1/x?a=b HTTP/1.1\r\n")) << request;
  EXPECT_NE(request.find("Authorization: Bearer secret\r\n"), request.npos);
  EXPECT_NE(request.find("Content-Type: application/merge-patch+json\r\n"), request.npos);
  EXPECT_TRUE(request.ends_with(R"({"b": 2})"));
}

TEST(CurlDoor, AStreamComesInLinesHoweverItIsCut) {
  TestingHttp server([](const std::string&) {
    return fmt::format("{}{}{}{}{}", TestingHttp::kChunked, TestingHttp::chunk("on"),
                       TestingHttp::chunk("e\n\ntwo\nth"), TestingHttp::chunk("ree\n"),
                       TestingHttp::chunk(""));
  });
  const auto door = open_door(server.url());
  door->stream({"GET", "/watch"});
  EXPECT_EQ(all_of(*door), (std::vector<std::string>{"one", "two", "three", "END 200"}));
}

TEST(CurlDoor, AStreamThatBreaksOffEndsWithoutAStatus) {
  TestingHttp server([](const std::string&) {
    return fmt::format("{}{}Connection: close", TestingHttp::kChunked,
                       TestingHttp::chunk("one\nt"));
  });
  const auto door = open_door(server.url());
  door->stream({"GET", "/watch"});
  EXPECT_EQ(all_of(*door), (std::vector<std::string>{"one", "END 0"}));
}

TEST(CurlDoor, AnAnswerToAStreamThatIsAnErrorIsItsEnd) {
  TestingHttp server([](const std::string&) { return TestingHttp::answer(410, "gone\nfor good"); });
  const auto door = open_door(server.url());
  door->stream({"GET", "/watch"});
  const KubeEvent event = next(*door);
  EXPECT_EQ(event.kind, Kind::kEnd);
  EXPECT_EQ(event.status, 410);
  EXPECT_EQ(event.text, "gone\nfor good");
}

TEST(CurlDoor, TellsHowLongToWait) {
  TestingHttp server(
      [](const std::string&) { return TestingHttp::answer(429, "", "Retry-After: 7\r\n"); });
  const auto door = open_door(server.url());
  door->call({"GET", "/"});
  const KubeEvent event = next(*door);
  EXPECT_EQ(event.status, 429);
  EXPECT_EQ(event.retry_after, seconds(7));
}

TEST(CurlDoor, ALineAndAnAnswerHaveABound) {
  TestingHttp server([](const std::string& request) {
    const bool is_watch = request.find("/watch") != request.npos;
    const std::size_t size = is_watch ? kKubeLineBytesMax + 100 : kKubeAnswerBytesMax + 100;
    return TestingHttp::answer(200, std::string(size, 'a'));
  });
  const auto door = open_door(server.url());
  door->stream({"GET", "/watch"});
  KubeEvent event = next(*door);
  EXPECT_EQ(event.kind, Kind::kEnd);
  EXPECT_EQ(event.status, 0);
  EXPECT_EQ(event.text, "a line has more than 8388608 bytes");
  door->call({"GET", "/list"});
  event = next(*door);
  EXPECT_EQ(event.status, 0);
  EXPECT_EQ(event.text, "the answer has more than 67108864 bytes");
}

// Has a token file, which is removed with the test.
class TokenTest : public testing::Test {
 protected:
  TokenTest() {
    fs::create_directories(folder_);
    write("old\n");
    user_.token.file = file_;
  }
  ~TokenTest() override { fs::remove_all(folder_); }
  void write(const std::string& token) const { std::ofstream(file_) << token; }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("fairlead-token-{}", ::getpid());
  std::string file_ = folder_ / "token";
  KubeUser user_;
};

TEST_F(TokenTest, ATokenThatIsRefusedIsReadAgainAndTheCallTriedOnceMore) {
  TestingHttp server([](const std::string& request) {
    const bool is_new = request.find("Bearer new\r\n") != request.npos;
    return TestingHttp::answer(is_new ? 200 : 401, "");
  });
  const auto door = open_door(server.url(), user_);
  write("new\n");
  door->call({"GET", "/"});
  EXPECT_EQ(next(*door).status, 200);
  EXPECT_EQ(server.requests().size(), 2U);
  door->stream({"GET", "/"});
  EXPECT_EQ(next(*door).status, 200);
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST_F(TokenTest, ATokenThatIsTheSameIsNotTriedAgain) {
  TestingHttp server([](const std::string&) { return TestingHttp::answer(401, "no"); });
  const auto door = open_door(server.url(), user_);
  door->call({"GET", "/"});
  EXPECT_EQ(next(*door).status, 401);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(TokenTest, ATokenThatIsRefusedTwiceIsTheAnswer) {
  TestingHttp server([](const std::string&) { return TestingHttp::answer(401, "no"); });
  const auto door = open_door(server.url(), user_);
  write("new\n");
  door->call({"GET", "/"});
  EXPECT_EQ(next(*door).status, 401);
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST(CurlDoor, WithoutAServerCallsAreAnsweredWithoutAStatus) {
  std::string url;
  {
    TestingHttp server([](const std::string&) { return ""; });
    url = server.url();
  }
  const auto door = open_door(url);
  door->call({"GET", "/"});
  const KubeEvent event = next(*door);
  EXPECT_EQ(event.kind, Kind::kAnswer);
  EXPECT_EQ(event.status, 0);
  EXPECT_NE(event.text, "");
}

TEST(CurlDoor, NothingComesOfACallThatIsDropped) {
  TestingHttp server([](const std::string& request) {
    return TestingHttp::answer(request.find("/dropped") != request.npos ? 404 : 200, "");
  });
  const auto door = open_door(server.url());
  const CallId dropped = door->call({"GET", "/dropped"});
  door->drop(dropped);
  door->call({"GET", "/kept"});
  EXPECT_EQ(next(*door).status, 200);
  EXPECT_EQ(door->wait(door->now()).kind, Kind::kTime);
}

TEST(CurlDoor, IsAskedToLeaveOnce) {
  const Descriptor leave(::eventfd(0, EFD_CLOEXEC));
  const auto door = open_door("http://127.0.0.1:1", {}, leave.get());
  EXPECT_EQ(door->wait(door->now()).kind, Kind::kTime);
  ASSERT_EQ(::eventfd_write(leave.get(), 1), 0);
  EXPECT_EQ(door->wait(door->now() + kLong).kind, Kind::kTerminate);
  EXPECT_EQ(door->wait(door->now()).kind, Kind::kTime);
}

TEST(CurlDoor, AnErrorNamesTheVersionOfLibcurlThatIsNeeded) {
  const std::string old = missing_curl("7.74.0").error().message;
  EXPECT_NE(old.find("libcurl 7.77 or later is needed"), std::string::npos) << old;
  EXPECT_NE(old.find("this system has 7.74.0"), std::string::npos) << old;
  EXPECT_EQ(old.find("apt"), std::string::npos) << "Debian 11 has no later one";
  EXPECT_NE(missing_curl({}).error().message.find("libcurl 7.77 or later"), std::string::npos);
}

TEST(CurlDoor, TimeGoesOn) {
  const auto door = open_door("http://127.0.0.1:1");
  const Time before = door->now();
  EXPECT_EQ(door->wait(before + milliseconds(20)).kind, Kind::kTime);
  EXPECT_GE(door->now(), before + milliseconds(20));
  EXPECT_NE(door->random(), door->random());
}

TEST(CurlDoor, CallsAtOnceAreAllAnswered) {
  TestingHttp server([](const std::string& request) {
    return TestingHttp::answer(200, request.substr(5, request.find(' ', 5) - 5));
  });
  const auto door = open_door(server.url());
  std::map<CallId, std::string> open;
  for (int i = 0; i < 200; ++i) {
    const std::string name = fmt::to_string(i);
    open[door->call({"GET", "/" + name})] = name;
  }
  while (!open.empty()) {
    const KubeEvent event = next(*door);
    ASSERT_EQ(event.text, open.at(event.call));
    open.erase(event.call);
  }
}

}  // namespace
}  // namespace fairlead
