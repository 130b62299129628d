#include "fairlead/cli/folder_lock.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>

namespace fairlead {

Status FolderLock::take(const std::filesystem::path& folder) {
  folder_ = Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_.is_open()) return run_error("{}: {}", folder.string(), std::strerror(errno));
  if (::flock(folder_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
  return run_error("{}: another run writes its results there; name another folder by --out",
                   folder.string());
}

}  // namespace fairlead
