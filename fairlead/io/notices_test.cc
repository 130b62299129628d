#include "fairlead/io/notices.h"

#include "fairlead/io/spawn.h"
#include "fairlead/io/testing_real_io.h"
#include "fairlead/shim/processes.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

class NoticesTest : public testing::Test {
 protected:
  NoticesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "fairlead.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~NoticesTest() override { std::filesystem::remove_all(folder_); }

  Notification notification(std::string command) const {
    return {.job = JobId(7),
            .command = std::move(command),
            .variables = {"FOLDER=" + folder_.string(), "FAIRLEAD_TEXT=a 'b' $(c)"},
            .input = "{\"text\":\"\"}\n"};
  }
  // Returns once all commands have ended, with the lines of the log.
  std::string end_all(Notices& notices) {
    testing::internal::CaptureStderr();
    while (notices.running() > 0) {
      epoll_.look(true);
      while (const auto ready = epoll_.take()) notices.handle(*ready);
    }
    return testing::internal::GetCapturedStderr();
  }

  std::filesystem::path folder_;
  Epoll epoll_ = Epoll::create().value();
};

TEST_F(NoticesTest, TheCommandHasTheVariablesTheInputAndTheDaemonsEnvironment) {
  Notices notices(epoll_);
  ::setenv("FAIRLEAD_TEST_MARK", "here", 1);
  notices.add(
      notification(R"(cd "$FOLDER"; cat > out; echo "$FAIRLEAD_TEXT $FAIRLEAD_TEST_MARK" >> out)"));
  EXPECT_EQ(end_all(notices), "");
  EXPECT_EQ(text_of_file(folder_ / "out"), "{\"text\":\"\"}\na 'b' $(c) here\n");
}

TEST_F(NoticesTest, FailuresAreLogged) {
  Notices notices(epoll_);
  notices.add(notification("exit 3"));
  EXPECT_EQ(end_all(notices), "fairlead: the notification about job 7 has failed: exit code 3\n");
  notices.add(notification("kill -9 $$"));
  EXPECT_EQ(end_all(notices), "fairlead: the notification about job 7 has failed: signal 9\n");
}

TEST_F(NoticesTest, ACommandThatTakesTooLongIsKilledWithItsChildren) {
  const Fifo fifo((folder_ / "fifo").string());
  Notices notices(epoll_, milliseconds(1));  // it counts only once the test looks
  notices.add(notification(R"(sleep 100000 & echo $! > "$FOLDER/fifo"; wait)"));
  const Descriptor child(shim::open_process(std::stoi(fifo.line())));
  ASSERT_TRUE(child.is_open());
  EXPECT_EQ(end_all(notices),
            "fairlead: the notification about job 7 has failed: it was killed after 0s\n");
  EXPECT_TRUE(has_ended(child, kLongMs));
}

TEST_F(NoticesTest, AFewRunAtATimeAndTheOthersFollow) {
  const Fifo gate((folder_ / "gate").string());
  Notices notices(epoll_);
  const std::size_t all = kNotificationsAtOnce + 2;
  for (std::size_t i = 0; i < all; ++i)
    notices.add(notification(R"(cd "$FOLDER"; read line < gate; echo done >> out)"));
  EXPECT_EQ(notices.running(), kNotificationsAtOnce);
  for (std::size_t i = 0; i < all; ++i) gate.write("\n");
  EXPECT_EQ(end_all(notices), "");
  const std::string out = text_of_file(folder_ / "out");
  EXPECT_EQ(std::ranges::count(out, '\n'), static_cast<std::ptrdiff_t>(all));
}

TEST_F(NoticesTest, ThoseForWhichThereIsNoRoomAreLogged) {
  testing::internal::CaptureStderr();
  {
    Notices notices(epoll_);
    for (std::size_t i = 0; i < kNotificationsAtOnce + kNotificationsWaitingMax + 1; ++i)
      notices.add(notification("true"));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fairlead: the notification about job 7 has failed: 1000 others wait already\n"
            "fairlead: 1000 notifications are not sent, because the daemon ends\n");
}

}  // namespace
}  // namespace fairlead
