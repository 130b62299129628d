// Clients of the status endpoint for tests, without sockets.
#pragma once

#include "fairlead/pods/http_listener.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlead {

class TestingClients : public HttpPort {
 public:
  bool handle(const KubeEvent&) override { return false; }
  HttpMessage get(const std::string& target) const {
    HttpReader requests(HttpReader::Of::kRequests);
    HttpReader responses(HttpReader::Of::kResponses);
    EXPECT_TRUE(requests.feed(http_request("GET", target)));
    EXPECT_TRUE(responses.feed(answer_(*requests.next())));
    return *responses.next();
  }
};

}  // namespace fairlead
