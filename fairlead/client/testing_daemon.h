// A daemon for tests: a thread that answers requests with a given function, on a Unix socket or a port.
#pragma once

#include "fairlead/http/http.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <list>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace fairlead {

class TestingDaemon {
 public:
  // The status and the body of a response; status 0: the daemon hangs up instead.
  struct Answer {
    int status = 200;
    std::string body = "{}";
  };
  // Answers a request of the process with the given id. Called from threads of the daemon, one per
  // connection.
  using Answers = std::function<Answer(const HttpMessage&, pid_t)>;

  TestingDaemon(std::string path, Answers answers)
      : path_(std::move(path)),
        answers_(std::move(answers)),
        listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(path_, address.sun_path);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, generic, sizeof address), 0) << path_;
    EXPECT_EQ(::listen(listener_, 8), 0);
    thread_ = std::thread([this] { accept_all(); });
  }
  // Answers at a free port of this machine instead; the process ids are then 0.
  explicit TestingDaemon(Answers answers)
      : answers_(std::move(answers)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, generic, size), 0);
    EXPECT_EQ(::getsockname(listener_, generic, &size), 0);
    path_ = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
    EXPECT_EQ(::listen(listener_, 8), 0);
    thread_ = std::thread([this] { accept_all(); });
  }
  // Waits until all clients have disconnected.
  ~TestingDaemon() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    ::unlink(path_.c_str());
  }
  // Returns the path of the socket, or "127.0.0.1:PORT".
  const std::string& path() const { return path_; }

 private:
  void accept_all() {
    std::list<std::thread> connections;
    for (int fd = accept(); fd >= 0; fd = accept())
      connections.emplace_back([this, fd] { answer_all(fd); });
    for (std::thread& connection : connections) connection.join();
  }
  int accept() const { return ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); }
  void answer_all(int fd) const {
    ucred peer{};
    socklen_t size = sizeof peer;
    ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    HttpReader reader(HttpReader::Of::kRequests);
    std::array<char, 4096> bytes;
    bool is_open = true;
    while (is_open) {
      const ssize_t count = ::recv(fd, bytes.data(), bytes.size(), 0);
      is_open = count > 0 && reader.feed({bytes.data(), static_cast<std::size_t>(count)});
      while (const auto request = reader.next()) {
        const Answer answer = answers_(*request, peer.pid);
        const std::string response = http_response(answer.status, "application/json", answer.body);
        is_open = is_open && answer.status != 0;
        if (is_open) ::send(fd, response.data(), response.size(), MSG_NOSIGNAL);
      }
    }
    ::close(fd);
  }

  std::string path_;
  Answers answers_;
  int listener_;
  std::thread thread_;
};

// Returns a path for a socket that no other test uses.
inline std::string testing_socket() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return fmt::format("{}fl-{}-{}", testing::TempDir(), getpid(), test->line());
}

}  // namespace fairlead
