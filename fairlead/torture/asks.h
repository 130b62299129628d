// The requests of clients, drawn from a stream of random numbers.
#pragma once

#include "fairlead/base/rng.h"
#include "fairlead/torture/promises.h"
#include "fairlead/torture/world_plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

constexpr std::uint32_t kFirstUid = 1000;

struct Ask {
  enum class Kind : std::uint8_t {
    kSubmit,
    kCancel,
    kHold,
    kRelease,
    kJob,
    kEnd,  // waits for the end of the job
    kTickets,
    kLimit,  // the number of GPUs that a user may have
    kCordon,
    kReserve,  // or the end of a reservation
    kRead,     // an existing resource
    kNowhere,  // a resource that does not exist
    kSweep,    // the list of jobs, to see whether all have ended
    kGarbage,  // bytes that are not HTTP
  };
  Kind kind = Kind::kRead;
  std::string bytes;
  std::size_t submission = 0;  // for kSubmit: its position in Promises
  std::uint32_t tasks =
      0;  // for kSubmit: the tasks that follow in Promises; 0: the request is of one job
  std::uint32_t at_once = 0;       // for kSubmit: of the tasks; 0: all
  std::optional<bool> is_valid{};  // for kSubmit: whether it must be accepted, if known
  JobId job{};                     // for requests about a job
  std::string user{};              // for kTickets and kLimit
  std::int64_t tickets = 0;
  std::uint32_t gpus_max = 0;  // for kLimit; 0: any number
};

// The sender of a request: administrators have the uid 0.
struct Asker {
  std::uint32_t uid = 0;
  bool is_admin() const { return uid == 0; }
  std::string name() const { return is_admin() ? "root" : "user" + std::to_string(uid); }
};

class Asks {
 public:
  Asks(const WorldPlan& plan, Promises& promises) : plan_(plan), promises_(promises) {}

  Asker asker(Rng& rng) const;
  // Draws a usual request. `unix_ms`: the calendar.
  Ask draw(Rng& rng, Asker asker, std::int64_t unix_ms);

  Ask about_job(Ask::Kind kind, JobId job) const;
  Ask limit(std::string user, std::uint32_t gpus_max) const;
  Ask uncordon(std::string_view node) const;
  Ask cancel_reservation(std::uint32_t id) const;
  Ask sweep() const;

 private:
  Ask submit(Rng& rng, Asker asker);
  std::string state_memory(Submitted& job) const;
  std::string conditions(Rng& rng, Submitted& job) const;
  std::string tasks(Rng& rng, Ask& ask, Submitted job);
  Ask reserve(Rng& rng, std::int64_t unix_ms);
  Ask tickets(Rng& rng) const;
  Ask read(Rng& rng) const;
  NodeId some_node(Rng& rng) const;
  JobId some_job(Rng& rng) const;
  const Cluster& cluster() const { return plan_.machine.cluster; }
  SimWork work(Rng& rng) const;

  const WorldPlan& plan_;
  Promises& promises_;
};

}  // namespace fairlead
