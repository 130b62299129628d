// The daemon: the engine and a policy over real jobs, the journal, and the API for clients.
//
// It is one object in one thread, and does all input and output through an Io. A request is acknowledged
// only after it is on the disk. A server may stop at any call of its Io, by a crash or a loss of power;
// the next one finds the journal and the tasks, and continues.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/io.h"
#include "fairlead/local/foreign_notices.h"
#include "fairlead/local/machine.h"

#include <cstdint>
#include <memory>
#include <string>

namespace fairlead {

struct Tables;

// The policy of one machine by default: suspended jobs keep their GPU memory, and users that are due GPUs but have none
// wait for a minute. A job comes first among its user's jobs after an hour without GPUs.
inline constexpr std::string_view kLocalPolicy =
    "fairlead:resident=true,patience_s=60,job_patience_s=3600,copies=0,notes=true";

struct ServeOptions {
  Machine machine;
  std::string policy{kLocalPolicy};  // with its options
  std::uint64_t seed = 0;
  // The time in which a job that must leave its GPUs can write a checkpoint, before it is killed.
  Duration grace = seconds(60);
  // From the end of a job to the removal of its log; zero: it is kept.
  Duration keep{};
  // The folder of the hook for the jobs' Python processes (python/hook); empty: they start without it.
  std::string hook{};
  // The state of the policy is kept after that many records, so that a start need not replay more.
  std::int64_t snapshot_records = 10'000;
  // The TCP address of the API, "127.0.0.1:8080", and the token that clients need there. Empty: no
  // address, and TCP clients are refused.
  std::string http_address{};
  std::string http_token{};
  // The shell command of notifications (serve/notifier.h); empty: jobs cannot ask for any.
  std::string notify{};
  // The machine's name in them.
  std::string host{};
  // The effect on foreign processes on GPUs (local/foreign_notices.h).
  OnForeign on_foreign = OnForeign::kNothing;
};

class Server {
 public:
  // Continues the run in the folder of `io`, or starts one. Errors: no such policy or option; the
  // journal is damaged; the folder cannot be written.
  static Result<std::unique_ptr<Server>> open(Io& io, ServeOptions options);
  virtual ~Server() = default;

  // Runs until the next decision of the policy, or shorter. Returns false once the machine asked the
  // daemon to leave, and all data is on the disk. Error: the disk is full or failed, or the policy
  // broke a rule; tasks continue without the daemon.
  virtual Result<bool> step() = 0;

  // Returns the engine's tables. Valid until the next step.
  virtual const Tables& tables() const = 0;
  // Return the number of records of the journal, and the state behind them, including the policy's, in
  // bytes to compare (Engine::condense). The state is empty while the policy starts again.
  // REQUIRES: between two steps.
  virtual std::uint64_t records() const = 0;
  virtual std::string memory() const = 0;
  // Returns how the daemon started, in a few words: "began", "went on with 12 jobs".
  virtual const std::string& beginning() const = 0;
};

}  // namespace fairlead
