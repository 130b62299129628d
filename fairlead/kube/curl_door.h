// A KubeDoor to a real API server, by libcurl on one thread: HTTP/2 if the server offers it, TLS, and persistent
// connections. A dead connection is detected within 15 s.
//
// Everything happens in wait(). After an answer with status 401, the credentials are read again and the call or stream
// is repeated once. Credentials that expire, and token files, are also read again before that. The door waits while a
// plugin prints credentials.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/kube/credentials.h"
#include "fairlead/kube/door.h"
#include "fairlead/kube/kubeconfig.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace fairlead {

// Returns the error of a system without a libcurl that can connect to API servers. `found`: the version that the system
// has, which is too old; empty: there is none, or it cannot start.
Status missing_curl(std::string_view found);

class CurlDoor final : public KubeDoor {
 public:
  // wait() returns kTerminate once `leave`, a descriptor of the caller's (an eventfd, a signalfd or a pipe), can be
  // read; -1: none. Error: there are no credentials, or no certificate authority.
  static Result<std::unique_ptr<CurlDoor>> open(KubeTarget target, int leave = -1);
  CurlDoor(const CurlDoor&) = delete;
  CurlDoor& operator=(const CurlDoor&) = delete;
  ~CurlDoor() override;

  // wait() also returns kReady as long as that descriptor of the caller's can be read.
  void also_wait_for(int descriptor) { also_ = descriptor; }

  Time now() override;
  std::int64_t unix_ms() override;
  std::uint64_t random() override;
  CallId call(KubeRequest request) override;
  CallId stream(KubeRequest request) override;
  void drop(CallId call) override;
  KubeEvent wait(Time until) override;

 private:
  struct Multi;     // libcurl's
  struct Transfer;  // a call or stream on its way

  CurlDoor(KubeTarget target, KubeCredentials credentials, std::string authority, int leave);
  CallId begin(KubeRequest&& request, bool is_stream);
  void send(Transfer& transfer);
  void set_address(Transfer& transfer);
  void set_request(Transfer& transfer);
  static void set_limits(Transfer& transfer);
  void set_tls(Transfer& transfer);
  // Reads the credentials again if they are old. `must`: even if they are not.
  void refresh(bool must);
  // Takes the finished transfers from libcurl.
  void collect();
  void finish(Transfer& transfer, int curl_code);
  bool tries_again(Transfer& transfer, int status);
  // Waits for the network, the time or a descriptor of the caller's: kTerminate, kReady, else kTime.
  KubeEvent::Kind poll(Time until);

  KubeTarget target_;
  KubeCredentials credentials_;
  std::uint64_t credentials_number_ = 1;  // number of reads so far
  Time read_at_;                          // time of the last read; before the first, long ago
  std::string authority_;                 // PEM
  int leave_;
  int also_ = -1;
  std::int64_t opened_ns_ = 0;
  std::unique_ptr<Multi> multi_;
  std::map<CallId, std::unique_ptr<Transfer>> transfers_;
  std::deque<KubeEvent> events_;
  CallId last_call_ = 0;
};

}  // namespace fairlead
