#include "fairlead/client/client.h"

#include "fairlead/client/testing_daemon.h"

namespace fairlead {
namespace {

TestingDaemon::Answer echo(const HttpMessage& request, pid_t) {
  return {request.path == "/no" ? 404 : 200,
          fmt::format("{} {} {} {}", request.method, request.path, request.query, request.body)};
}

TEST(Client, AsksOneThingAfterTheOther) {
  const TestingDaemon daemon(testing_socket(), echo);
  auto client = Client::connect(daemon.path());
  ASSERT_TRUE(client) << client.error().message;
  const auto first = client->ask("GET", "/v1/jobs?all=1");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->status, 200);
  EXPECT_EQ(first->body, "GET /v1/jobs all=1 ");
  const auto second = client->ask("POST", "/no", "{}");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->status, 404);
  EXPECT_EQ(second->body, "POST /no  {}");
}

TEST(Client, LargeMessagesComeWholeBothWays) {
  const TestingDaemon daemon(testing_socket(), echo);
  Client client = Client::connect(daemon.path()).value();
  const std::string large(1'000'000, 'x');
  const auto answer = client.ask("POST", "/", large);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "POST /  " + large);
}

TEST(Client, SaysWhatToDoWhereNoDaemonIs) {
  const std::string path = testing_socket();
  const auto client = Client::connect(path);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().message,
            "no fairlead daemon answers at " + path + "; is `fairlead serve` running?");
}

TEST(Client, APathTooLongForASocketIsAnError) {
  const auto client = Client::connect("/" + std::string(200, 'x'));
  ASSERT_FALSE(client);
  EXPECT_TRUE(client.error().message.starts_with("a socket's path has at most 107 bytes: /xxx"));
}

TEST(Client, ADaemonThatGoesIsAnError) {
  const TestingDaemon daemon(testing_socket(),
                             [](const HttpMessage&, pid_t) { return TestingDaemon::Answer{0}; });
  Client client = Client::connect(daemon.path()).value();
  const auto answer = client.ask("GET", "/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message,
            "the fairlead daemon at " + daemon.path() + " closed the connection");
}

}  // namespace
}  // namespace fairlead
