// Reservations of GPUs: a number of GPUs of one type, for a user or a group, from one time of the calendar to another.
//
// The book is the file "reservations" of the daemon's folder. A reservation has a number of GPUs on each node, and no
// particular GPUs. On each node all reservations fit together at any time.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/result.h"
#include "fairlead/io/io.h"
#include "fairlead/model/cluster.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

struct Reservation {
  std::uint32_t id = 0;
  std::string holder;     // the name of a user, or of a group of accounts
  bool is_group = false;  // the holder is a group
  GpuTypeId type{};
  std::int64_t from_ms = 0;  // milliseconds since 1970
  std::int64_t to_ms = 0;
  std::map<NodeId, std::uint32_t> gpus{};  // by node, each at least 1

  std::uint32_t total() const;
  bool is_at(std::int64_t unix_ms) const { return from_ms <= unix_ms && unix_ms < to_ms; }
};

class ReservationBook {
 public:
  // The most reservations that overlap a new one, and it. The limits on tasks need a resource for each set of reservations
  // at one time (local/reservations.h).
  static constexpr std::size_t kAtOnceMax = 6;
  // Reservations that are not over.
  static constexpr std::size_t kMost = 1000;

  // REQUIRES: the arguments outlive this; the cluster has the nodes of earlier daemons.
  ReservationBook(Io& io, const Cluster& cluster) : io_(io), cluster_(cluster) {}

  // Reads the file, if there is one. Error: it is not from this class.
  Status load();
  // Returns them by id.
  const std::vector<Reservation>& all() const { return all_; }

  struct Asked {
    std::string holder;
    bool is_group = false;
    GpuTypeId type{};
    std::uint32_t gpus = 1;
    std::int64_t from_ms = 0;
    std::int64_t to_ms = 0;
  };
  struct Added {
    std::uint32_t id = 0;         // 0: there is no room, and nothing was changed
    std::uint32_t free_gpus = 0;  // without room: GPUs of the type that are free all the time
    // Without room: the first whole minute from which the request fits, because people write times in minutes.
    std::int64_t free_from_ms = 0;
  };
  // Adds a reservation, on one node if one has room. Errors: the disk takes no more (Error::Kind::kRun); the book is full.
  // O(reservations^2 x nodes). REQUIRES: asked.from_ms < asked.to_ms; the type has asked.gpus GPUs.
  Result<Added> add(const Asked& asked);
  // Removes a reservation. False: there is none of that number. Error: the disk takes no more, and nothing was changed.
  Result<bool> cancel(std::uint32_t id);
  // Removes the reservations that are over at that time. If the disk takes no more, a later daemon removes them again.
  void end(std::int64_t unix_ms);

 private:
  using Gpus = std::map<NodeId, std::uint32_t>;
  std::uint32_t free_on(NodeId node, std::int64_t from_ms, std::int64_t to_ms) const;
  std::optional<Gpus> place(const Asked& asked) const;
  std::uint32_t free_gpus(const Asked& asked) const;
  bool is_crowded(const Asked& asked) const;
  Status write(const std::vector<Reservation>& all, std::uint32_t next) const;

  Io& io_;
  const Cluster& cluster_;
  std::vector<Reservation> all_;
  std::uint32_t next_ = 1;  // the id of the next one: ids are not used again
};

}  // namespace fairlead
