#include "fairlead/pods/outlook.h"

#include "fairlead/kube/fake_server.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

class OutlookTest : public testing::Test {
 protected:
  std::string get(const std::string& path) {
    HttpMessage request;
    request.method = "GET";
    request.path = path;
    const std::string response = outlook_.answer(request);
    return response.substr(9, 3) + " " + response.substr(response.find("\r\n\r\n") + 4);
  }
  void run_for(Duration time, Lease& lease, KubeDoor& door) {
    const Time end = door.now() + time;
    while (door.now() < end) {
      lease.wake();
      lease.handle(door.wait(std::min(end, lease.wake_at())));
    }
  }

  FakeServer server_{1};
  std::unique_ptr<KubeDoor> real_ = server_.open();
  CountedDoor door_{*real_};
  Lease lease_{door_, {.identity = "two"}};
  Outlook outlook_{door_, lease_, "two", "fifo"};
};

TEST_F(OutlookTest, AFollowerIsReadyOnceItKnowsWhoLeads) {
  EXPECT_EQ(get("/healthz"), "200 ok\n");
  EXPECT_EQ(get("/readyz"), "503 the leader is not known yet\n");
  const auto other = server_.open();
  Lease first(*other, {.identity = "one"});
  run_for(seconds(1), first, *other);
  run_for(seconds(3), lease_, door_);
  EXPECT_EQ(get("/readyz"), "200 follows one\n");
  EXPECT_EQ(get("/why/lab/train"), "503 one leads\n");
  EXPECT_EQ(get("/v1/jobs"), R"(503 {"error":"this process only follows; one leads"})");
  EXPECT_NE(get("/metrics").find("fairlead_is_leader 0\n"), std::string::npos);
}

TEST_F(OutlookTest, WritesAreCountedByWhatTheServerAnswered) {
  server_.fail_next("POST", "leases", {.status = 500});
  run_for(seconds(10), lease_, door_);
  const std::string figures = get("/metrics");
  EXPECT_NE(figures.find("fairlead_writes_total{method=\"POST\",code=\"500\"} 1\n"),
            std::string::npos);
  EXPECT_NE(figures.find("fairlead_writes_total{method=\"POST\",code=\"201\"} 1\n"),
            std::string::npos);
}

TEST_F(OutlookTest, NothingElseIsThereAndNothingCanBeChanged) {
  EXPECT_EQ(get("/").substr(0, 3), "404");
  HttpMessage request;
  request.method = "POST";
  for (const char* path : {"/metrics", "/v1/jobs", "/v1/jobs/0/cancel", "/v1/nodes/n0/cordon"}) {
    request.path = path;
    EXPECT_TRUE(outlook_.answer(request).starts_with("HTTP/1.1 405")) << path;
  }
}

}  // namespace
}  // namespace fairlead
