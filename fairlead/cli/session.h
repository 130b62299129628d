// A job at this terminal: `fairlead run --tty`.
#pragma once

#include "fairlead/cli/daemon.h"

#include <string>

namespace fairlead {

// A pseudo-terminal, with the settings and the size of this terminal. Its far side is the job's.
class PseudoTerminal {
 public:
  // Opens a terminal. Error: standard input or output is not a terminal; the system has no free one.
  static Result<PseudoTerminal> make();
  PseudoTerminal(PseudoTerminal&& other) noexcept;
  PseudoTerminal& operator=(PseudoTerminal&& other) noexcept;
  ~PseudoTerminal();

  int near_side() const { return near_; }  // never blocks
  int far_side() const { return far_; }
  // Returns whether a session uses it, so that Ctrl-C belongs to the session.
  bool is_taken() const;
  // Makes it as large as this terminal.
  void resize() const;

 private:
  PseudoTerminal(int near_side, int far_side) : near_(near_side), far_(far_side) {}

  int near_;  // -1: moved from
  int far_;
};

// Relays between this terminal and the job's until the job is done. Afterwards this terminal has its previous state,
// also if a signal ends the relay. Until the job has started, Ctrl-C cancels it; from then on all keys go to the job.
// Returns the job as it ended. If the terminal has gone or a signal came, returns the unfinished job, which the daemon
// ends once `daemon` is closed. Prints when the job is suspended, and when it continues. `daemon`: the connection over
// which it was submitted, with `terminal`; `socket`: of --socket.
Result<JobAnswer> attend_session(Daemon& daemon, const std::string& socket, const JobAnswer& job,
                                 const PseudoTerminal& terminal);

}  // namespace fairlead
