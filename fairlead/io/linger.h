// Resources that a killed daemon leaves open.
//
// While a daemon starts a task, the child shares its files until the child runs the shim. The daemon's locks and socket
// may therefore outlive it for as long as a program takes to load.
#pragma once

#include <functional>
#include <sys/types.h>

namespace fairlead {

// Returns whether `is_free` becomes true. It is called again only if `owner` has ended, and for two seconds.
bool becomes_free(pid_t owner, const std::function<bool()>& is_free);

}  // namespace fairlead
