// The daemon: the engine and a policy over real jobs, its journal, and the clients that ask.
//
// One thread, one object, one door: all of it goes through an Io. What a client is told to be done is
// on the disk. A server may stop at any call of its Io, by a crash or a loss of power; the next one
// finds the journal and the tasks, and goes on.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/io.h"
#include "fairlead/local/machine.h"

#include <cstdint>
#include <memory>
#include <string>

namespace fairlead {

struct Tables;

struct ServeOptions {
  Machine machine;
  std::string policy = "fairlead:resident=true,copies=0,notes=true";  // with its options
  std::uint64_t seed = 0;
  // What a job that has to leave its GPUs has to write a checkpoint, before it is killed.
  Duration grace = seconds(60);
  // The state of the policy is kept after that many records, so that a start need not replay more.
  std::int64_t snapshot_records = 10'000;
  // Where clients find the Io over TCP, "127.0.0.1:8080", and the token that they need there. Empty:
  // nowhere, and each that comes that way is refused.
  std::string http_address{};
  std::string http_token{};
};

class Server {
 public:
  // Goes on with what is in the folder of `io`, or begins it. Errors: no such policy or option; the
  // journal is damaged, or of another machine; the folder cannot be written.
  static Result<std::unique_ptr<Server>> open(Io& io, ServeOptions options);
  virtual ~Server() = default;

  // Until the next instant at which the policy had something to decide, or sooner. False once the
  // machine asked the daemon to leave, and all is on the disk. Error: the disk takes no more, or the
  // policy broke a rule; tasks go on without the daemon.
  virtual Result<bool> step() = 0;

  // What the engine knows. Valid until the next step.
  virtual const Tables& tables() const = 0;
  // How many records the journal has, and what of the past still counts behind them, with what the
  // policy remembers, in bytes to compare (Engine::condense). Empty while the policy starts anew.
  // REQUIRES: between two steps.
  virtual std::uint64_t records() const = 0;
  virtual std::string memory() const = 0;
  // How it began, in a few words: "began", "went on with 12 jobs".
  virtual const std::string& beginning() const = 0;
};

}  // namespace fairlead
