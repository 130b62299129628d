// Answers HTTP at a TCP port, on the thread of a door that returns kReady when the descriptor can be read.
#pragma once

#include "fairlead/http/http.h"
#include "fairlead/io/connections.h"
#include "fairlead/io/epoll.h"
#include "fairlead/kube/listener.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace fairlead {

// A listener for HTTP requests. Tests have one without sockets.
class HttpPort : public KubeListener {
 public:
  using Answer = std::function<std::string(const HttpMessage& request)>;  // a whole response
  // REQUIRES: called before the first event.
  void set_answer(Answer answer) { answer_ = std::move(answer); }
  void wake() override {}

 protected:
  Answer answer_;
};

class HttpListener : public HttpPort {
 public:
  // Error: it cannot listen at that address, "0.0.0.0:8080".
  static Result<std::unique_ptr<HttpListener>> open(const std::string& address);
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  int descriptor() const { return epoll_.descriptor(); }
  bool handle(const KubeEvent& event) override;

 private:
  explicit HttpListener(Epoll epoll) : epoll_(std::move(epoll)) {}
  void receive(ConnectionId connection, std::string_view bytes);

  Epoll epoll_;
  Connections connections_{epoll_, 256};
  std::map<ConnectionId, HttpReader> readers_;
};

}  // namespace fairlead
