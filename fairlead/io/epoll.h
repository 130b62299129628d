// What of many descriptors is ready, one at a time.
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

  // Watches for `events` (EPOLLIN, EPOLLOUT, or 0: broken connections alone), again and again as long
  // as they last. Returns a number that no other call gets. Error: the system has no more room.
  Result<std::uint64_t> add(int descriptor, std::uint32_t events);
  void change(int descriptor, std::uint64_t number, std::uint32_t events);
  // To be called before the descriptor is closed; what it was ready for may still come.
  void remove(int descriptor);

  struct Ready {
    std::uint64_t number = 0;  // of add()
    std::uint32_t events = 0;
  };
  // The next of those that the last look() found.
  std::optional<Ready> take();
  // Can be read as long as something is ready.
  int descriptor() const { return descriptor_.get(); }
  // Finds what is ready; waits for it, or returns at once. REQUIRES: take() has nothing left.
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
