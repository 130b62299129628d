// Tasks at the terminal of a client.

#include "fairlead/io/testing_real_io.h"

#include <array>
#include <csignal>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>

namespace fairlead {
namespace {

using Kind = IoEvent::Kind;

class TerminalsTest : public RealIoTest {
 protected:
  void TearDown() override {
    close_near();
    ::close(far_);
    ::close(socket_);
  }
  void make_terminal() {
    near_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_EQ(::unlockpt(near_), 0);
    far_ = ::open(::ptsname(near_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_GE(far_, 0);
  }
  // A client that hands over these files with a byte each; its connection.
  ConnectionId hand_over(const std::vector<int>& files) {
    connect();
    const ConnectionId connection = next().connection;
    for (const int file : files) {
      send_with(file);
      EXPECT_EQ(next().kind, Kind::kReceived);
    }
    return connection;
  }
  void connect() {
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder_ / "socket").native().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  void send_with(int file) const {
    char byte = 'x';
    iovec part{&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> rights{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = rights.data();
    message.msg_controllen = rights.size();
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &file, sizeof file);
    ASSERT_EQ(::sendmsg(socket_, &message, MSG_NOSIGNAL), 1);
  }
  TaskSpec session(std::uint32_t run, std::string text, ConnectionId connection) const {
    TaskSpec spec = script(run, std::move(text));
    spec.terminal = connection;
    return spec;
  }
  // Returns the task's output on its terminal, up to `end`.
  std::string shown(std::string_view end) const {
    std::string text;
    pollfd ready{near_, POLLIN, 0};
    while (text.find(end) == std::string::npos && ::poll(&ready, 1, kLongMs) > 0) {
      std::array<char, 256> bytes;
      const ssize_t count = ::read(near_, bytes.data(), bytes.size());
      if (count <= 0) break;
      text.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return text;
  }
  void type(std::string_view keys) const {
    EXPECT_EQ(::write(near_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void close_near() {
    if (near_ >= 0) ::close(near_);
    near_ = -1;
  }

  int near_ = -1;
  int far_ = -1;
  int socket_ = -1;
};

INSTANTIATE_TEST_SUITE_P(Terminals, TerminalsTest, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Cgroups" : "Signals"; });

TEST_P(TerminalsTest, ATaskHasTheTerminalOfItsClientAndNoLog) {
  make_terminal();
  start(session(1, "tty; read line; echo got $line; echo more > /dev/tty", hand_over({far_})));
  EXPECT_NE(shown("\n").find(::ptsname(near_)), std::string::npos);
  type("hello\n");
  EXPECT_NE(shown("more").find("got hello"), std::string::npos);
  EXPECT_EQ(end_of(id(1)), code(0));
  EXPECT_EQ(log(), "");
}

TEST_P(TerminalsTest, CtrlCIsASignalToTheTask) {
  make_terminal();
  start(
      session(1, "trap 'exit 7' INT; echo ready; while :; do sleep 0.1; done", hand_over({far_})));
  shown("ready");
  type("\x03");
  EXPECT_EQ(end_of(id(1)), code(7));
}

TEST_P(TerminalsTest, ATaskEndsWithItsTerminal) {
  make_terminal();
  start(session(1, "echo ready; while :; do sleep 0.1; done", hand_over({far_})));
  shown("ready");
  close_near();
  EXPECT_EQ(end_of(id(1)), signal(SIGHUP));
}

TEST_P(TerminalsTest, TheNextTaskOfAJobHasTheTerminalAgain) {
  make_terminal();
  const ConnectionId connection = hand_over({far_});
  start(session(1, "exit 0", connection));
  EXPECT_EQ(end_of(id(1)), code(0));
  start(session(2, "tty", connection));
  EXPECT_NE(shown("\n").find("/dev/pts/"), std::string::npos);
  EXPECT_EQ(end_of(id(2)), code(0));
}

TEST_P(TerminalsTest, WithoutATerminalSuchATaskDoesNotStart) {
  make_terminal();
  const int file = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const ConnectionId connection = hand_over({file});  // which is none
  ::close(file);
  const Status none = io_->start(session(1, "exit 0", connection));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "its terminal is gone");
  send_with(far_);
  EXPECT_EQ(next().kind, Kind::kReceived);
  ::close(socket_);
  socket_ = -1;
  EXPECT_EQ(next().kind, Kind::kClosed);
  EXPECT_FALSE(io_->start(session(2, "exit 0", connection)));
}

TEST_P(TerminalsTest, ATerminalWhoseOtherSideIsGoneIsSaidToBe) {
  make_terminal();
  const ConnectionId connection = hand_over({far_});
  close_near();
  const Status status = io_->start(session(1, "exit 0", connection));
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("cannot take its terminal"), std::string::npos)
      << status.error().message;
}

TEST_P(TerminalsTest, ATerminalIsThatOfOneProcess) {
  make_terminal();
  TaskSpec spec = session(1, "exit 0", hand_over({far_}));
  spec.processes = 2;
  EXPECT_FALSE(io_->start(spec));
}

// The daemon keeps at most one terminal per client, and none once the client has gone.
TEST_P(TerminalsTest, FilesThatAreHandedOverDoNotPileUp) {
  make_terminal();
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  connect();
  const auto before = open_files();
  next();
  for (int i = 0; i < 20; ++i) {
    send_with(far_);
    EXPECT_EQ(next().kind, Kind::kReceived);
  }
  EXPECT_EQ(open_files(), before + 2);  // and its end of the connection
  ::close(socket_);
  socket_ = -1;
  EXPECT_EQ(next().kind, Kind::kClosed);
  EXPECT_EQ(open_files(), before - 1);
}

}  // namespace
}  // namespace fairlead
