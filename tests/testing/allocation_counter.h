// Counts every operator new of the program it is linked into. Programs under sanitizers, which
// bring their own allocator, must not link it.
#pragma once

#include <cstdint>

namespace fairlead {

// Calls of any form of operator new so far, on all threads.
std::int64_t allocations_so_far();

}  // namespace fairlead
