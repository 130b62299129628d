// The commands that ask a daemon, against a real one: jobs are processes of this machine.

#include "program.h"
#include <fmt/format.h>

#include <array>
#include <csignal>
#include <grp.h>
#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fairlead {
namespace {

using nlohmann::json;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

class RealDaemon : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    start();
  }
  void TearDown() override {
    stop();
    ProgramTest::TearDown();
  }

  // Returns once the daemon answers, which its first line reports.
  void start() {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    daemon_ = fork();
    if (daemon_ == 0) {
      ::dup2(pipe[1], STDOUT_FILENO);
      ::close(pipe[0]);
      ::close(pipe[1]);
      ::execl(FAIRLEAD_PROGRAM, "fairlead", "serve", "--nodes", "2xV100,1xK80@0.25", "--policy",
              "fifo", "--grace", "1", "--notify", notify_.c_str(), "--folder",
              path("state").c_str(), nullptr);
      _exit(127);
    }
    ::close(pipe[1]);
    char byte = 0;
    EXPECT_EQ(::read(pipe[0], &byte, 1), 1) << "it does not begin";
    output_ = pipe[0];
  }
  void stop() const {
    kill(daemon_, SIGTERM);
    int status = 0;
    ASSERT_EQ(waitpid(daemon_, &status, 0), daemon_);
    EXPECT_EQ(status, 0);
    ::close(output_);
  }
  Ended ask(std::string_view arguments, std::string_view before = ":") const {
    return fairlead(arguments,
                    fmt::format("export FAIRLEAD_SOCKET='{}'; {}", path("state/socket"), before));
  }
  // Restarts the daemon with a command for notifications.
  void restart_to_notify(std::string command) {
    stop();
    notify_ = std::move(command);
    start();
  }

 private:
  std::string notify_;
  pid_t daemon_ = 0;
  int output_ = -1;  // the daemon's log
};

TEST_F(RealDaemon, ARunIsItsCommandInThisFolderWithThisEnvironment) {
  const Ended ended = ask("run -g 2 -- sh -c 'pwd; echo \"$MARK\"; umask; exit 7'",
                          "umask 027; export MARK='a  b'");
  EXPECT_EQ(ended.out, fmt::format("{}\na  b\n0027\n",
                                   std::filesystem::path(path("x")).parent_path().string()));
  EXPECT_NE(ended.errors.find("failed: exit code 7\n"), std::string::npos) << ended.errors;
  EXPECT_EQ(ended.exit_code, 7);
}

TEST_F(RealDaemon, AJobThatASignalEndsHasTheExitCodeOfShells) {
  const Ended ended = ask("run -- sh -c 'kill -9 $$'");
  EXPECT_EQ(ended.exit_code, 137) << ended.errors;
}

TEST_F(RealDaemon, ACommandThatCannotRunIsReportedAtOnce) {
  const Ended missing = ask("run -- pyhton x");
  EXPECT_EQ(
      missing.errors,
      "fairlead: job 0 failed: exit code 127: cannot run pyhton: No such file or directory\n");
  EXPECT_EQ(missing.exit_code, 127);
  write("data", "");
  const Ended refused = ask("run --retries 2 -- ./data");
  EXPECT_EQ(refused.errors,
            "fairlead: job 1 failed: exit code 126: cannot run ./data: Permission denied\n");
  EXPECT_EQ(refused.exit_code, 126);
}

TEST_F(RealDaemon, APipeOrAFileIsTheInputOfAJob) {
  write("data", "a\nb\n");
  EXPECT_EQ(ask("run -- sh -c 'read x; echo got $x' < data").out, "got a\n");
  EXPECT_EQ(ask("run -- cat", "exec < data").out, "a\nb\n");
  EXPECT_EQ(ask("run --processes 2 -- sort", "exec < data").out, "a\nb\n");
  EXPECT_EQ(ask("run -- cat < /dev/null").out, "");
}

TEST_F(RealDaemon, AClientSurvivesTheEndOfItsTerminal) {
  int terminal = -1;
  const pid_t client = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (client == 0) {
    ::setenv("FAIRLEAD_SOCKET", path("state/socket").c_str(), 1);
    if (::chdir(std::filesystem::path(path("x")).parent_path().c_str()) != 0) _exit(1);
    ::execl(FAIRLEAD_PROGRAM, "fairlead", "run", "--", "sh", "-c",
            "mkfifo pipe; read line < pipe; echo $line; exit 7", nullptr);
    _exit(1);
  }
  ASSERT_GT(client, 0);
  const Ended opened = ask("run -- sh -c 'until [ -p pipe ]; do :; done'");
  EXPECT_EQ(opened.exit_code, 0) << opened.errors;
  ::close(terminal);
  write("pipe", "hello\n");
  int status = 0;
  ASSERT_EQ(::waitpid(client, &status, 0), client);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(RealDaemon, WhatCanNeverRunIsRefused) {
  const Ended ended = ask("run -g 40 -- true");
  EXPECT_EQ(ended.errors, "fairlead: larger than the cluster\n");
  EXPECT_EQ(ended.exit_code, 2);
}

TEST_F(RealDaemon, AJobIsSubmittedSeenHeldReleasedAndCancelled) {
  // The first waits for the second to open the other end; there are enough GPUs for both.
  ASSERT_EQ(ask("submit -n reader -g 1 -- sh -c 'mkfifo pipe; echo started; read line < pipe; echo "
                "$line'")
                .out,
            "0\n");
  const json jobs = json::parse(ask("ps --json").out, nullptr, false);
  ASSERT_EQ(jobs["jobs"].size(), 1U);
  EXPECT_EQ(jobs["jobs"][0]["name"], "reader");
  EXPECT_EQ(ask("submit -n held -g 2 --types V100 -- true").out, "1\n");  // it waits: fifo
  EXPECT_EQ(ask("hold held").errors, "");
  EXPECT_NE(ask("when held").out.find("is held"), std::string::npos);
  EXPECT_NE(ask("why 1").out.find("its user holds it"), std::string::npos);
  EXPECT_EQ(ask("release 1").errors, "");
  EXPECT_NE(ask("when 1").out.find("This guesses that"), std::string::npos) << ask("when 1").errors;
  EXPECT_EQ(ask("cancel held").errors, "");
  const Ended writer = ask("run -- sh -c 'until [ -p pipe ]; do :; done; echo hello > pipe'");
  EXPECT_EQ(writer.exit_code, 0) << writer.errors;
  EXPECT_EQ(ask("logs -f 0").out, "started\nhello\n");
  const Ended cancelled = ask("logs -f 1");
  EXPECT_EQ(cancelled.errors, "fairlead: job 1 was cancelled\n");
}

TEST_F(RealDaemon, JobsStartAfterOthersAndSweepsHaveTheirValues) {
  const Ended sweep = ask(
      "submit --array 1-2%1 --param x=a,b -- sh -c 'echo $FAIRLEAD_ARRAY_INDEX {x} >> all; ulimit "
      "-n > limit'",
      "ulimit -n 321");
  EXPECT_EQ(sweep.out, "0-3\n") << sweep.errors;
  EXPECT_EQ(ask("run --after-ok 0-3 -- cat all limit").out, "1 a\n1 b\n2 a\n2 b\n321\n");
  const Ended bad = ask("submit -- false");
  const Ended never = ask("run --after 0 --after-ok 5 -- true");
  EXPECT_NE(never.errors.find("was cancelled: job 5 had to end well first, but is failed"),
            std::string::npos)
      << never.errors;
  EXPECT_EQ(never.exit_code, 130);
  const Ended usage = ask("usage --since 1.day --by user --json");
  EXPECT_EQ(json::parse(usage.out, nullptr, false)["usage"].size(), 4U) << usage.out;
  const Ended past = fairlead(fmt::format("usage '{}' --by type", path("state")));
  EXPECT_NE(past.out.find("V100"), std::string::npos) << past.out << past.errors;
  EXPECT_NE(past.out.find("GPU-hours in all"), std::string::npos);
}

TEST_F(RealDaemon, AJobOfAHigherPriorityTakesTheGpusOfItsUsersOthers) {
  const char* const low =
      "submit --priority low -g 2 --types V100 -- sh -c 'mkfifo pipe; read line < pipe; echo "
      "$line'";
  ASSERT_EQ(ask(low).out, "0\n");
  const Ended opened = ask("run -- sh -c 'until [ -p pipe ]; do :; done'");
  EXPECT_EQ(opened.exit_code, 0) << opened.errors;
  const Ended high = ask("run --priority high -g 2 --types V100 -- echo first");
  EXPECT_EQ(high.out, "first\n") << high.errors;
  write("pipe", "hello\n");
  EXPECT_EQ(ask("logs -f 0").out, "hello\n");
}

TEST_F(RealDaemon, ALimitOfAUserIsNamed) {
  ASSERT_EQ(ask("submit -- true").out, "0\n");
  const json users = json::parse(ask("users --json").out, nullptr, false);
  const auto name = users["users"][0]["name"].get<std::string>();
  EXPECT_EQ(ask("users set " + name + " max-gpus 1").errors, "");
  EXPECT_NE(ask("users").out.find("MAX GPUS"), std::string::npos);
  EXPECT_EQ(ask("submit -g 2 -- true").out, "1\n");
  const std::string why = ask("why 1").out;
  EXPECT_NE(why.find("may have 2 GPUs at once; the limit is 1"), std::string::npos) << why;
  stop();
  start();
  EXPECT_NE(ask("why 1").out.find("the limit is 1"), std::string::npos);
  EXPECT_EQ(ask("users set " + name + " max-gpus 0").errors, "");
  EXPECT_EQ(ask("logs -f 1").errors, "fairlead: job 1 finished\n");
}

// A pipe stands for the mail server, so its reader waits for the message.
TEST_F(RealDaemon, TheEndOfAJobIsMailedToItsUser) {
  ASSERT_EQ(::mkfifo(path("sent").c_str(), 0600), 0);
  write("sendmail", fmt::format("#!/bin/sh\n{{ echo \"$@\"; cat; }} > '{}'\n", path("sent")));
  ASSERT_EQ(::chmod(path("sendmail").c_str(), 0700), 0);
  const std::string folder = std::filesystem::path(path("x")).parent_path().string();
  restart_to_notify(
      fmt::format("PATH='{}':$PATH exec '{}/notify-mail'", folder, FAIRLEAD_PACKAGING));
  EXPECT_EQ(ask("submit -n first -- true").out, "0\n");
  EXPECT_EQ(ask("submit -n second --notify fail -- sh -c 'exit 3'").out, "1\n");
  const std::string mail = read("sent");
  const json jobs = json::parse(ask("ps -a --json").out, nullptr, false)["jobs"];
  const auto user = jobs[1]["user"].get<std::string>();
  EXPECT_TRUE(mail.starts_with(
      fmt::format("-i -- {}\nTo: {}\nSubject: Fairlead: job 1 failed\n", user, user)))
      << mail;
  EXPECT_NE(mail.find(fmt::format("\n\n{}: job 1 (second) of {} failed: exit code 3\n", host_name(),
                                  user)),
            std::string::npos)
      << mail;
}

TEST_F(RealDaemon, TheEndOfAJobIsPostedToAWebhook) {
  ASSERT_EQ(::mkfifo(path("sent").c_str(), 0600), 0);
  write("curl", fmt::format("#!/bin/sh\n{{ echo \"$@\"; cat; }} > '{}'\n", path("sent")));
  ASSERT_EQ(::chmod(path("curl").c_str(), 0700), 0);
  const std::string folder = std::filesystem::path(path("x")).parent_path().string();
  restart_to_notify(fmt::format("PATH='{}':$PATH exec '{}/notify-webhook' /etc/hook", folder,
                                FAIRLEAD_PACKAGING));
  EXPECT_EQ(ask("run --notify end -n 'a \"b\"' -- true").errors, "");
  const std::string sent = read("sent");
  const std::size_t line = sent.find('\n');
  EXPECT_TRUE(sent.substr(0, line).ends_with("--data-binary @- --config /etc/hook")) << sent;
  const json message = json::parse(sent.substr(line), nullptr, false);
  EXPECT_EQ(message["job"]["name"], "a \"b\"") << sent;
  EXPECT_EQ(message["job"]["state"], "finished");
}

TEST_F(RealDaemon, ANotificationThatFailsCostsNothingElse) {
  restart_to_notify("exit 7");
  EXPECT_EQ(ask("run --notify end -- true").exit_code, 0);
  EXPECT_EQ(ask("run --notify end -- true").exit_code, 0);
}

TEST_F(RealDaemon, WithoutACommandForNotificationsTheyAreRefused) {
  const Ended ended = ask("submit --notify end -- true");
  EXPECT_NE(ended.errors.find("this daemon sends no notifications"), std::string::npos)
      << ended.errors;
  EXPECT_EQ(ended.exit_code, 2);
}

TEST_F(RealDaemon, ALimitOfAGroupIsNamed) {
  const group* const own = ::getgrgid(::getegid());
  ASSERT_NE(own, nullptr);
  const std::string name = own->gr_name;
  EXPECT_EQ(ask("users set-group " + name + " max-gpus 1").errors, "");
  EXPECT_EQ(ask("submit -g 2 -- true").out, "0\n");
  stop();
  start();
  const std::string why = ask("why 0").out;
  EXPECT_NE(why.find("when the group " + name + " may have 2 GPUs at once; the limit is 1"),
            std::string::npos)
      << why;
  EXPECT_NE(ask("users").out.find("USERS WITH JOBS"), std::string::npos);
  EXPECT_EQ(ask("users set-group " + name + " max-gpus 0").errors, "");
  EXPECT_EQ(ask("logs -f 0").errors, "fairlead: job 0 finished\n");
  EXPECT_EQ(ask("users set-group no-such max-gpus 1").errors,
            "fairlead: this machine has no such group: no-such\n");
}

TEST_F(RealDaemon, AJobGoesOnWithoutItsDaemon) {
  ASSERT_EQ(ask("submit -- sh -c 'echo started; mkfifo pipe; read line < pipe; echo $line'").out,
            "0\n");
  // The job has started once it reads, so the daemon stops while the job runs.
  const Ended opened = ask("run -- sh -c 'until [ -p pipe ]; do :; done'");
  EXPECT_EQ(opened.exit_code, 0) << opened.errors;
  stop();
  write("pipe", "hello\n");
  start();
  const Ended followed = ask("logs -f 0");
  EXPECT_EQ(followed.out, "started\nhello\n");
  EXPECT_EQ(followed.errors, "fairlead: job 0 finished\n");
}

}  // namespace
}  // namespace fairlead
