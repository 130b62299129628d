// A job at this terminal: `fairlead run --tty`.
#pragma once

#include "fairlead/cli/daemon.h"

#include <string>

namespace fairlead {

// A pseudo-terminal, with the settings and the size of this terminal. Its far side is the job's.
class PseudoTerminal {
 public:
  // Error: standard input or output is no terminal; the system has none to give.
  static Result<PseudoTerminal> make();
  PseudoTerminal(PseudoTerminal&& other) noexcept;
  PseudoTerminal& operator=(PseudoTerminal&& other) noexcept;
  ~PseudoTerminal();

  int near_side() const { return near_; }  // never blocks
  int far_side() const { return far_; }
  // Whether a session has it, so that Ctrl-C means that.
  bool is_taken() const;
  // Makes it as large as this terminal.
  void resize() const;

 private:
  PseudoTerminal(int near_side, int far_side) : near_(near_side), far_(far_side) {}

  int near_;  // -1: moved from
  int far_;
};

// Relays between this terminal and the job's until the job is done; this one is as it was before
// afterwards, also where a signal ends it. Until the job has begun Ctrl-C cancels it; from then on all
// keys are the job's. Returns the job as it ended; or as it is, not done, where the terminal has gone
// or a signal came: the daemon ends it once `daemon` is closed. Says when it is suspended, and when it
// goes on. `daemon`: over which it was submitted, with `terminal`; `socket`: of --socket.
Result<JobAnswer> attend_session(Daemon& daemon, const std::string& socket, const JobAnswer& job,
                                 const PseudoTerminal& terminal);

}  // namespace fairlead
