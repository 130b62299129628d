// An HTTP/1.1 server on the loopback interface that sends the bytes a test gives it.
#pragma once

#include "fairlead/base/check.h"
#include "fairlead/io/descriptor.h"

#include <arpa/inet.h>
#include <array>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <vector>

namespace fairlead {

class TestingHttp {
 public:
  // Returns the whole answer to a raw request (head and body). The connection is closed after an answer
  // with "Connection: close".
  using Handler = std::function<std::string(const std::string& request)>;

  explicit TestingHttp(Handler handler) : handler_(std::move(handler)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    FL_CHECK(::bind(listener_.get(), any, size) == 0 && ::listen(listener_.get(), 64) == 0);
    FL_CHECK(::getsockname(listener_.get(), any, &size) == 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  TestingHttp(const TestingHttp&) = delete;
  TestingHttp& operator=(const TestingHttp&) = delete;
  ~TestingHttp() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    for (const Descriptor& connection : connections_) ::shutdown(connection.get(), SHUT_RDWR);
    for (std::thread& worker : workers_) worker.join();
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // Returns all requests so far.
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  static std::string answer(int status, std::string_view body, std::string_view headers = "") {
    return fmt::format("HTTP/1.1 {} Text\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(),
                       headers, body);
  }
  // Returns a chunk of an answer without a Content-Length.
  static std::string chunk(std::string_view bytes) {
    return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
  }
  static constexpr std::string_view kChunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

 private:
  void accept_all() {
    while (true) {
      Descriptor connection(::accept(listener_.get(), nullptr, nullptr));
      if (!connection.is_open()) return;
      connections_.push_back(std::move(connection));
      workers_.emplace_back([this, socket = connections_.back().get()] { serve(socket); });
    }
  }

  void serve(int socket) {
    std::string bytes;
    std::array<char, 65536> buffer{};
    while (true) {
      const ssize_t count = ::recv(socket, buffer.data(), buffer.size(), 0);
      if (count <= 0) return;
      bytes.append(buffer.data(), static_cast<std::size_t>(count));
      const std::size_t size = whole(bytes);
      if (size == 0) continue;
      const std::string request = bytes.substr(0, size);
      bytes.erase(0, size);
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      const std::string reply = handler_(request);
      for (std::size_t sent = 0; sent < reply.size();) {
        const ssize_t n = ::send(socket, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) return;
        sent += static_cast<std::size_t>(n);
      }
      if (reply.find("Connection: close") != reply.npos) ::shutdown(socket, SHUT_RDWR);
    }
  }

  // Returns the length of the first request, or 0 if it is not complete yet.
  static std::size_t whole(const std::string& bytes) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == bytes.npos) return 0;
    const std::size_t at = bytes.find("Content-Length: ");
    const std::size_t body = at < end ? std::stoul(bytes.substr(at + 16)) : 0;
    return bytes.size() >= end + 4 + body ? end + 4 + body : 0;
  }

  Handler handler_;
  Descriptor listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
  std::thread acceptor_;
  std::vector<Descriptor> connections_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::vector<std::string> requests_;
};

}  // namespace fairlead
