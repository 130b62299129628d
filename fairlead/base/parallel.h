// Independent pieces of work on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace fairlead {

// Calls each(0), ..., each(count - 1) on as many threads as there are cores, and returns after the last. REQUIRES: the
// calls do not depend on each other.
template <class Each>
void in_parallel(std::size_t count, const Each& each) {
  if (count == 0) return;
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) each(i);
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> others(std::min(count, cores) - 1);  // its destructor waits for them
  for (std::jthread& other : others) other = std::jthread(work);
  work();
}

}  // namespace fairlead
