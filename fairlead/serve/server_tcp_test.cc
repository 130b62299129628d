// The page over TCP: its access rights, and that it changes nothing.

#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr const char* kLocal = "Host: localhost:8080\r\n";
constexpr const char* kBearer = "Host: 127.0.0.1\r\nAuthorization: Bearer secret\r\n";

TEST(Server, OverTcpItIsSeenByThoseWhoHaveTheToken) {
  SimDaemon daemon;
  for (const char* path : {"/", "/healthz", "/metrics", "/v1/cluster", "/v1/jobs", "/v1/users"}) {
    const std::string get = fmt::format("GET {}", path);
    EXPECT_EQ(daemon.ask_over_tcp(get, kLocal).status, 401) << path;
    EXPECT_NE(daemon.raw.find("WWW-Authenticate: Bearer"), std::string::npos);
    EXPECT_EQ(daemon.ask_over_tcp(get, kBearer).status, 200) << path;
    EXPECT_EQ(daemon.raw.find("Set-Cookie"), std::string::npos);
    EXPECT_EQ(daemon.ask_over_tcp(get + "?token=secret", kLocal).status, 200) << path;
  }
  for (const char* wrong : {"", "s", "secre", "secret2", "SECRET", "secreu"}) {
    EXPECT_EQ(daemon.ask_over_tcp(fmt::format("GET /healthz?token={}", wrong), kLocal).status, 401)
        << wrong;
  }
}

TEST(Server, ThePageKeepsItsTokenInACookie) {
  SimDaemon daemon;
  EXPECT_EQ(daemon.ask_over_tcp("GET /?token=secret", kLocal).status, 200);
  EXPECT_NE(daemon.raw.find("Set-Cookie: fairlead_token=secret; Path=/; HttpOnly; SameSite=Strict"),
            std::string::npos);
  const std::string with = fmt::format("{}Cookie: a=b; fairlead_token=secret\r\n", kLocal);
  EXPECT_EQ(daemon.ask_over_tcp("GET /v1/jobs", with).status, 200);
  const std::string wrong = fmt::format("{}Cookie: fairlead_token=secreT\r\n", kLocal);
  EXPECT_EQ(daemon.ask_over_tcp("GET /v1/jobs", wrong).status, 401);
  // A wrong token gets no cookie, over the Unix socket either.
  daemon.ask("GET", "/?token=guess");
  EXPECT_EQ(daemon.raw.find("Set-Cookie"), std::string::npos);
}

TEST(Server, OverTcpNothingIsChangedAndNoOwnJobSeen) {
  SimDaemon daemon;
  const std::size_t id = daemon.submit({"work", "600000"});
  const std::string target = fmt::format("/v1/jobs/{}", id);
  EXPECT_EQ(daemon.ask_over_tcp("POST " + target + "/cancel", kBearer).status, 405);
  EXPECT_EQ(daemon.ask_over_tcp("PUT /v1/users/user1000", kBearer).status, 405);
  EXPECT_EQ(daemon.state(id), "running");
  const json seen = json::parse(daemon.ask_over_tcp("GET " + target, kBearer).body);
  EXPECT_EQ(seen["state"], "running");
  EXPECT_FALSE(seen.contains("command") || seen.contains("log"));
}

TEST(Server, OverTcpOtherHostsAreRefused) {
  SimDaemon daemon;
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example", "",
                           "127.0.0.1.evil.example", "10.0.0.1:8080"}) {
    const std::string headers = fmt::format("Host: {}\r\nAuthorization: Bearer secret\r\n", host);
    EXPECT_EQ(daemon.ask_over_tcp("GET /v1/jobs", headers).status, 403) << host;
  }
  EXPECT_EQ(daemon.ask_over_tcp("GET /v1/jobs", "Authorization: Bearer secret\r\n").status, 403);
}

TEST(Server, WithoutATokenNothingIsServedOverTcp) {
  SimDaemon daemon;
  daemon.server.reset();
  auto opened = Server::open(daemon.io, {.machine = stand_in_machine("2xV100").value(),
                                         .policy = "gandiva-fair:quantum_s=60"});
  ASSERT_TRUE(opened.has_value());
  daemon.server = std::move(*opened);
  EXPECT_EQ(daemon.ask_over_tcp("GET /healthz?token=", kLocal).status, 401);
  EXPECT_EQ(daemon.ask("GET", "/v1/page").status, 404);
}

TEST(Server, ARequestThatDoesNotArriveInTimeIsGivenUp) {
  SimDaemon daemon;
  const HttpMessage answer =
      daemon.ask_as({.is_unknown = true}, "POST /v1/jobs HTTP/1.1\r\nContent-Length: 5\r\n\r\n12");
  EXPECT_EQ(answer.status, 408);
  EXPECT_GE(daemon.io.time(), Time{} + seconds(30));
  EXPECT_LT(daemon.io.time(), Time{} + seconds(31));
  // A client without a request may stay.
  daemon.io.network().connect({.uid = kAnn});
  daemon.run_to(200);
  EXPECT_EQ(daemon.io.network().size(), 1U);
}

TEST(Server, TheRequestsOfAUserAreBoundedTogetherAndOthersAreNotConcerned) {
  SimDaemon daemon;
  const std::string part = fmt::format("POST /v1/jobs HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}",
                                       kHttpBytesMax, std::string(kHttpBytesMax - 1, 'x'));
  for (int i = 0; i < 12; ++i)
    daemon.io.network().send(daemon.io.network().connect({.uid = kBob, .gid = kBob}), part, {});
  daemon.run_to(1);
  EXPECT_EQ(daemon.ask("GET", "/healthz").status, 200);
  daemon.run_to(2);
  EXPECT_EQ(daemon.io.network().size(), 7U);  // with 28 MiB; the eighth would exceed 32 MiB
}

TEST(Server, UsersAreToldTheAddressOfThePage) {
  SimDaemon daemon;
  EXPECT_EQ(json::parse(daemon.ask("GET", "/v1/page").body)["url"],
            "http://127.0.0.1:8080/?token=secret");
}

}  // namespace
}  // namespace fairlead
