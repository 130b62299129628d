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

class HttpListener : public KubeListener {
 public:
  using Answer = std::function<std::string(const HttpMessage& request)>;  // a whole response

  // Error: it cannot listen at that address, "0.0.0.0:8080".
  static Result<std::unique_ptr<HttpListener>> open(const std::string& address);
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  int descriptor() const { return epoll_.descriptor(); }
  void set_answer(Answer answer) { answer_ = std::move(answer); }

  bool handle(const KubeEvent& event) override;
  void wake() override {}

 private:
  explicit HttpListener(Epoll epoll) : epoll_(std::move(epoll)) {}
  void receive(ConnectionId connection, std::string_view bytes);

  Epoll epoll_;
  Connections connections_{epoll_, 256};
  std::map<ConnectionId, HttpReader> readers_;
  Answer answer_;
};

}  // namespace fairlead
