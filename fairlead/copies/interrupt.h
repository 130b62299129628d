// SIGTERM as a file descriptor to wait for.
#pragma once

#include "fairlead/io/descriptor.h"

#include <csignal>
#include <sys/signalfd.h>

namespace fairlead {

constexpr int kInterrupted = 128 + SIGTERM;  // the exit code after it

// REQUIRES: one thread, which owns SIGTERM and SIGPIPE.
class Interrupt {
 public:
  Interrupt() {
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, nullptr);
    file_ = Descriptor(::signalfd(-1, &term, SFD_CLOEXEC | SFD_NONBLOCK));
    std::signal(SIGPIPE, SIG_IGN);
  }
  int file() const { return file_.get(); }
  bool came() {
    signalfd_siginfo signal{};
    came_ = came_ || ::read(file_.get(), &signal, sizeof signal) > 0;
    return came_;
  }

 private:
  Descriptor file_;
  bool came_ = false;
};

}  // namespace fairlead
