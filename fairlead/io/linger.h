// What a daemon that was killed leaves open.
//
// While it began a task, its files were those of its child, too, until that ran the shim. So its locks
// and its socket may outlive it, for as long as a program takes to be loaded.
#pragma once

#include <functional>
#include <sys/types.h>

namespace fairlead {

// Whether `is_free` becomes true. It is asked again only if `owner` has ended, and for two seconds.
bool becomes_free(pid_t owner, const std::function<bool()>& is_free);

}  // namespace fairlead
