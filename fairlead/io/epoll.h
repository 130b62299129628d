// Returns the ready descriptors of many, one at a time.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/descriptor.h"

#include <array>
#include <cstdint>
#include <optional>
#include <sys/epoll.h>

namespace fairlead {

class Epoll {
 public:
  static Result<Epoll> create();

  // Watches for `events` (EPOLLIN, EPOLLOUT, or 0: only broken connections), level-triggered. Returns a number that no
  // other call returns. Error: the system is out of resources.
  Result<std::uint64_t> add(int descriptor, std::uint32_t events);
  void change(int descriptor, std::uint64_t number, std::uint32_t events);
  // Stops watching. Call it before the descriptor is closed; an event found earlier may still arrive.
  void remove(int descriptor);

  struct Ready {
    std::uint64_t number = 0;  // number returned by add()
    std::uint32_t events = 0;
  };
  // Returns the next event that the last look() found.
  std::optional<Ready> take();
  // Returns a descriptor that can be read as long as some watched descriptor is ready.
  int descriptor() const { return descriptor_.get(); }
  // Finds ready descriptors; waits for one, or returns immediately. REQUIRES: take() is empty.
  void look(bool waits);

 private:
  explicit Epoll(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  Descriptor descriptor_;
  std::uint64_t last_number_ = 0;
  std::array<epoll_event, 64> found_{};
  std::size_t next_ = 0;  // in found_
  std::size_t end_ = 0;
};

}  // namespace fairlead
