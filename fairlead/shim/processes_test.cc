#include "fairlead/shim/processes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fairlead::shim {
namespace {

// A child that waits for signals, and its own child; the destructor kills both.
class Family {
 public:
  Family() {
    int ends[2] = {};
    EXPECT_EQ(::pipe(ends), 0);
    child_ = ::fork();
    if (child_ == 0) {
      // An unusual name must not confuse the parser.
      ::prctl(PR_SET_NAME, ") R 1 (x");
      const pid_t grandchild = ::fork();
      if (grandchild > 0 && ::write(ends[1], &grandchild, sizeof grandchild) < 0) ::_exit(1);
      for (;;) ::pause();
    }
    EXPECT_EQ(::read(ends[0], &grandchild_, sizeof grandchild_),
              static_cast<ssize_t>(sizeof grandchild_));
    for (const int end : ends) ::close(end);
  }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;
  ~Family() {
    ::kill(grandchild_, SIGKILL);
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  pid_t child() const { return child_; }
  pid_t grandchild() const { return grandchild_; }

 private:
  pid_t child_ = 0;
  pid_t grandchild_ = 0;
};

TEST(Processes, AProcessIsFoundWithItsParent) {
  const Family family;
  const std::optional<Process> child = find_process(family.child());
  ASSERT_TRUE(child);
  EXPECT_EQ(child->parent, ::getpid());
  EXPECT_FALSE(child->has_ended());
  EXPECT_GE(child->started, find_process(::getpid())->started);
  EXPECT_FALSE(find_process(-1));
}

TEST(Processes, DescendantsAreThoseOfAllGenerations) {
  const Family family;
  std::vector<pid_t> found;
  for (const Process& process : descendants(::getpid()).processes) found.push_back(process.pid);
  std::sort(found.begin(), found.end());
  std::vector<pid_t> expected = {family.child(), family.grandchild()};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
}

TEST(Processes, AllDescendantsAreStoppedAndContinued) {
  const Family family;
  EXPECT_TRUE(stop_descendants(::getpid(), 60'000));
  EXPECT_EQ(find_process(family.child())->state, 'T');
  EXPECT_EQ(find_process(family.grandchild())->state, 'T');
  signal_descendants(::getpid(), SIGCONT);
  EXPECT_NE(find_process(family.child())->state, 'T');
  EXPECT_NE(find_process(family.grandchild())->state, 'T');
}

TEST(Processes, ASignalToAProcessThatWasReplacedIsLost) {
  const Family family;
  Process other = *find_process(family.child());
  other.started += 1;
  send_signal(other, SIGSTOP);
  EXPECT_NE(find_process(family.child())->state, 'T');
}

TEST(Processes, TheBootHasOneName) {
  EXPECT_EQ(boot_id(), boot_id());
  EXPECT_EQ(boot_id().size(), 36U);
}

}  // namespace
}  // namespace fairlead::shim
