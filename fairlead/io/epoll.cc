#include "fairlead/io/epoll.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fairlead {

Result<Epoll> Epoll::create() {
  Descriptor descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!descriptor.is_open()) return run_error("epoll: {}", std::strerror(errno));
  return Epoll(std::move(descriptor));
}

Result<std::uint64_t> Epoll::add(int descriptor, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = ++last_number_;
  if (::epoll_ctl(descriptor_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    return run_error("epoll: {}", std::strerror(errno));
  return last_number_;
}

void Epoll::change(int descriptor, std::uint64_t number, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  FL_CHECK(::epoll_ctl(descriptor_.get(), EPOLL_CTL_MOD, descriptor, &event) == 0, "{}",
           std::strerror(errno));
}

void Epoll::remove(int descriptor) {
  ::epoll_ctl(descriptor_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

std::optional<Epoll::Ready> Epoll::take() {
  if (next_ == end_) return std::nullopt;
  const epoll_event& event = found_[next_++];
  return Ready{event.data.u64, event.events};
}

void Epoll::look(bool waits) {
  FL_CHECK(next_ == end_);
  const int count = ::epoll_wait(descriptor_.get(), found_.data(), static_cast<int>(found_.size()),
                                 waits ? -1 : 0);
  next_ = 0;
  end_ = static_cast<std::size_t>(std::max(count, 0));
}

}  // namespace fairlead
