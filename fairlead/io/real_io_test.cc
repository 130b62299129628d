#include "fairlead/io/real_io.h"

#include "fairlead/io/accounts.h"
#include "fairlead/io/testing_real_io.h"

#include <csignal>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

namespace fairlead {
namespace {

using Kind = IoEvent::Kind;

constexpr std::uint32_t kOtherUser = 65534;

class Client {
 public:
  explicit Client(const std::filesystem::path& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.native().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
        << std::strerror(errno);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { ::close(socket_); }

  int socket() const { return socket_; }
  void send(std::string_view bytes) const {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Receives up to `count` bytes, fewer if the other end closes.
  std::string receive(std::size_t count) const {
    std::string bytes(count, '\0');
    const ssize_t got = ::recv(socket_, bytes.data(), count, MSG_WAITALL);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }

 private:
  int socket_;
};

INSTANTIATE_TEST_SUITE_P(RealIo, RealIoTest, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Cgroups" : "Signals"; });

TEST_P(RealIoTest, ClientsAreToldApart) {
  const Client first(folder_ / "socket");
  const Client second(folder_ / "socket");
  const IoEvent one = next();
  ASSERT_EQ(one.kind, Kind::kConnected);
  EXPECT_EQ(one.peer.uid, ::geteuid());
  EXPECT_EQ(one.peer.gid, ::getegid());
  EXPECT_TRUE(one.peer.is_admin);
  const IoEvent two = next();
  ASSERT_EQ(two.kind, Kind::kConnected);
  EXPECT_NE(one.connection, two.connection);
  second.send("hello");
  const IoEvent received = next();
  ASSERT_EQ(received.kind, Kind::kReceived);
  EXPECT_EQ(received.connection, two.connection);
  EXPECT_EQ(received.bytes, "hello");
  io_->send(two.connection, "to the second");
  io_->send(one.connection, "to the first");
  EXPECT_EQ(first.receive(12), "to the first");
  EXPECT_EQ(second.receive(13), "to the second");
  ::shutdown(first.socket(), SHUT_WR);
  const IoEvent closed = next();
  ASSERT_EQ(closed.kind, Kind::kClosed);
  EXPECT_EQ(closed.connection, one.connection);
  io_->send(one.connection, "into the void");
}

TEST_P(RealIoTest, TheOlderPartOfALongLogIsRemoved) {
  constexpr std::uint64_t kMb = 1'000'000;
  io_.reset();
  RealIoOptions capped = options();
  capped.log_bytes = 2 * kMb;
  auto opened = RealIo::open(capped);
  ASSERT_TRUE(opened) << opened.error().message;
  io_ = *std::move(opened);
  start(1, "head -c 3000000 /dev/zero | tr '\\0' x; echo");
  EXPECT_EQ(end_of(id(1)), code(0));
  (void)io_->reports(id(1), 0);
  struct stat now {};
  ASSERT_EQ(::stat(io_->log_path(JobId(7)).c_str(), &now), 0);
  EXPECT_LE(static_cast<std::uint64_t>(now.st_blocks) * 512, 2 * kMb);
  start(2, "echo end");
  EXPECT_EQ(end_of(id(2)), code(0));
  EXPECT_TRUE(log().ends_with("xxx\nend\n"));
}

TEST_P(RealIoTest, TheLimitsOfAClientAreThoseOfItsTask) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit lower{.rlim_cur = 333, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  const Client client(folder_ / "socket");
  const ProcessLimits limits = next().peer.limits;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(limits.resources.size(), 2 * RLIM_NLIMITS);
  EXPECT_EQ(limits.resources[2 * RLIMIT_NOFILE], 333U);
  TaskSpec spec = script(1, "ulimit -n; nice");
  spec.limits = {limits.resources, limits.nice + 3};
  start(spec);
  EXPECT_EQ(end_of(id(1)), code(0));
  EXPECT_EQ(log(), fmt::format("333\n{}\n", limits.nice + 3));
}

TEST_P(RealIoTest, AClientOfAnotherUserIsNoAdministrator) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const pid_t client = ::fork();
  if (client == 0) {
    if (::setgid(kOtherUser) != 0 || ::setuid(kOtherUser) != 0) ::_exit(1);
    const Client connects(folder_ / "socket");
    ::_exit(0);
  }
  const IoEvent event = next();
  ASSERT_EQ(event.kind, Kind::kConnected);
  EXPECT_EQ(event.peer.uid, kOtherUser);
  EXPECT_EQ(event.peer.gid, kOtherUser);
  EXPECT_FALSE(event.peer.is_admin);
  ::waitpid(client, nullptr, 0);
}

TEST_P(RealIoTest, WhoComesOverTcpHasNoAccount) {
  const std::uint16_t port = io_->free_port();
  io_.reset();
  RealIoOptions with_port = options();
  with_port.port = port;
  auto opened = RealIo::open(with_port);
  ASSERT_TRUE(opened) << opened.error().message;
  io_ = *std::move(opened);
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  ASSERT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const IoEvent event = next();
  ASSERT_EQ(event.kind, Kind::kConnected);
  EXPECT_TRUE(event.peer.is_unknown);
  EXPECT_FALSE(event.peer.is_admin);
  EXPECT_EQ(event.peer.uid, kNoUser);
  io_->send(event.connection, "hello");
  char bytes[5];
  EXPECT_EQ(::recv(client, bytes, sizeof bytes, MSG_WAITALL), 5);
  const Client beside(folder_ / "socket");
  EXPECT_FALSE(next().peer.is_unknown);
  RealIoOptions other = with_port;
  other.folder = top_ / "other";
  const auto second = RealIo::open(other);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            fmt::format("127.0.0.1:{}: cannot listen: Address already in use", port));
  ::close(client);
}

TEST_P(RealIoTest, MembersOfTheGroupAreAdministrators) {
  const std::optional<std::uint32_t> group = find_group("daemon");  // the account has the same name
  if (!group || account_name(*group) != "daemon") GTEST_SKIP() << "no such account";
  if (::geteuid() == *group) GTEST_SKIP() << "this is that account";
  EXPECT_TRUE(is_administrator(*group, *group, "daemon"));
  EXPECT_FALSE(is_administrator(*group, *group, "root"));
  EXPECT_FALSE(is_administrator(*group, *group, "no such group"));
}

TEST_P(RealIoTest, AProcessOfNoTaskEndsAtTheRequest) {
  for (const bool by_force : {false, true}) {
    const pid_t pid = ::fork();
    if (pid == 0) {  // the daemon blocks SIGTERM, and its child inherits that
      sigset_t none;
      ::sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      for (;;) ::pause();
    }
    io_->end_process(static_cast<std::uint64_t>(pid), by_force);
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), by_force ? SIGKILL : SIGTERM);
  }
}

TEST_P(RealIoTest, AConnectionEndsOnceAllWasSent) {
  const Client client(folder_ / "socket");
  const ConnectionId connection = next().connection;
  const std::string much(4'000'000, 'm');  // more than the system takes at once
  io_->send(connection, much);
  io_->close(connection);
  std::string received;
  for (;;) {
    char bytes[65536];
    const ssize_t count = ::recv(client.socket(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count == 0) break;
    if (count > 0) received.append(bytes, static_cast<std::size_t>(count));
    if (count < 0) {
      EXPECT_EQ(io_->wait(io_->now()).kind, Kind::kTime);
    }
  }
  EXPECT_EQ(received, much);
}

TEST_P(RealIoTest, AClientThatReadsNothingIsCutOff) {
  const Client client(folder_ / "socket");
  const ConnectionId connection = next().connection;
  const std::string much(1'000'000, 'm');
  for (int i = 0; i < 20; ++i) io_->send(connection, much);
  EXPECT_EQ(next().kind, Kind::kClosed);
}

TEST_P(RealIoTest, EventsComeThoughItIsTimeAndTimeComesThoughThereAreEvents) {
  const Client client(folder_ / "socket");
  client.send("bytes");
  EXPECT_EQ(io_->wait({0}).kind, Kind::kConnected);
  EXPECT_EQ(io_->wait({0}).kind, Kind::kTime);
  EXPECT_EQ(io_->wait({0}).kind, Kind::kReceived);
  EXPECT_EQ(io_->wait({0}).kind, Kind::kTime);
  EXPECT_EQ(io_->wait({0}).kind, Kind::kTime);
}

TEST_P(RealIoTest, WaitReturnsAtItsTime) {
  const Time until = io_->now() + milliseconds(20);
  EXPECT_EQ(io_->wait(until).kind, Kind::kTime);
  EXPECT_GE(io_->now(), until);
}

TEST_P(RealIoTest, SigtermAsksTheDaemonToLeave) {
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(next().kind, Kind::kTerminate);
}

TEST_P(RealIoTest, TimeGoesOnInTheNextDaemonAndNeverBack) {
  // The calendar was set back far, so the last recorded time is ahead of it.
  const Time before = io_->now();
  const std::int64_t began = io_->unix_ms({0});
  io_.reset();
  const Time told = before + hours(1);
  std::ofstream(folder_ / "time") << told.ms << '\n';
  open();
  EXPECT_GE(io_->now(), told);
  EXPECT_NEAR(static_cast<double>(io_->unix_ms(io_->now())), static_cast<double>(began + before.ms),
              kLongMs);
  io_.reset();
  std::filesystem::remove(folder_ / "time");
  std::ofstream(folder_ / "began") << began - hours(2).ms << '\n';
  open();
  EXPECT_GE(io_->now(), before + hours(2));
}

TEST_P(RealIoTest, ASecondDaemonIsRefused) {
  const Result<std::unique_ptr<RealIo>> second = RealIo::open(options());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, fmt::format("{} is in use by another daemon, process {}",
                                                folder_.string(), ::getpid()));
}

TEST_P(RealIoTest, ASocketOfAnotherDaemonIsLeftAlone) {
  RealIoOptions other = options();
  other.folder = top_ / "other";
  other.socket = folder_ / "socket";
  EXPECT_FALSE(RealIo::open(other));
  const Client client(folder_ / "socket");
  EXPECT_EQ(next().kind, Kind::kConnected);
}

TEST_P(RealIoTest, AFileThatACrashLeftUnderConstructionIsListed) {
  ASSERT_TRUE(io_->write("jobs/12", "one"));
  std::ofstream(folder_ / "jobs" / "12.7.0.tmp") << "o";
  EXPECT_EQ(io_->list("jobs"), (std::vector<std::string>{"12", "12.7.0.tmp"}));
}

TEST_P(RealIoTest, FilesAppearWholeAndAreTheDaemonsAlone) {
  ASSERT_TRUE(io_->write("jobs/12", "one"));
  ASSERT_TRUE(io_->write("jobs/12", "two"));
  ASSERT_TRUE(io_->write("jobs/2", std::string("a\0b", 3)));
  EXPECT_EQ(io_->read("jobs/12").value(), "two");
  EXPECT_EQ(io_->read("jobs/2").value(), std::string("a\0b", 3));
  EXPECT_EQ(io_->list("jobs"), (std::vector<std::string>{"12", "2"}));
  EXPECT_TRUE(io_->list("none").empty());
  EXPECT_FALSE(io_->read("jobs/3"));
  io_->remove("jobs/2");
  EXPECT_EQ(io_->list("jobs"), std::vector<std::string>{"12"});
  struct stat now {};
  ASSERT_EQ(::stat((folder_ / "jobs" / "12").c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat((folder_ / "jobs").c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat(folder_.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 0777, 0711U);
}

TEST_P(RealIoTest, AFileThatCannotBeWrittenStaysAsItWas) {
  ASSERT_TRUE(io_->write("jobs/12", "one"));
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit none = before;
  none.rlim_cur = 0;
  ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &none);
  EXPECT_FALSE(io_->write("jobs/12", "two"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(io_->read("jobs/12").value(), "one");
  EXPECT_EQ(io_->list("jobs"), std::vector<std::string>{"12"});
}

TEST_P(RealIoTest, AStreamHasWhatWasAppendedAsItIs) {
  Result<ByteSource> none = io_->stream("journal");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->peek(1).value(), "");
  const std::string bytes = "\x1f\x8b not compressed";
  const auto append = [&](std::uint64_t at, std::string_view text) {
    auto file = io_->append_to("journal", at);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE((*file)->append({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
    ASSERT_TRUE((*file)->close());
  };
  append(0, bytes + "torn");
  append(bytes.size(), ", and more");
  Result<ByteSource> journal = io_->stream("journal");
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->peek(1000).value(), bytes + ", and more");
}

TEST_P(RealIoTest, AccountsHaveNamesAndPortsAreFree) {
  EXPECT_EQ(io_->user_name(0), "root");
  EXPECT_EQ(io_->user_name(3'999'999'999), "3999999999");
  EXPECT_GT(io_->free_port(), 0);
}

}  // namespace
}  // namespace fairlead
