#include "fairlead/base/append_file.h"

#include "fairlead/base/check.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace fairlead {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// Pipes and some file systems cannot sync.
bool sync_failed(int status) { return status != 0 && errno != EINVAL && errno != EROFS; }

class DiskFile : public AppendFile {
 public:
  DiskFile(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;
  ~DiskFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  const std::string& name() const override { return name_; }

  Status append(std::span<const std::uint8_t> bytes) override {
    FL_CHECK(descriptor_ >= 0, "{} is written after its end", name_);
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count >= 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
      if (count < 0 && errno != EINTR) return failed();
    }
    return {};
  }

  Status sync() override {
    FL_CHECK(descriptor_ >= 0, "{} is synced after its end", name_);
    if (sync_failed(::fdatasync(descriptor_))) return failed();
    if (is_removed()) return run_error("{}: it was removed while it was in use", name_);
    if (std::exchange(name_synced_, true)) return {};
    return sync_name();
  }

  Status close() override {
    FL_TRY(sync());
    if (::close(std::exchange(descriptor_, -1)) != 0) return failed();
    return {};
  }

  Status cut(std::uint64_t bytes) {
    struct stat now {};
    const bool longer = ::fstat(descriptor_, &now) == 0 && S_ISREG(now.st_mode) &&
                        static_cast<std::uint64_t>(now.st_size) > bytes;
    if (longer && (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0 ||
                   sync_failed(::fdatasync(descriptor_)))) {
      return run_error("{}: cannot cut its end: {}", name_, reason(errno));
    }
    return {};
  }

 private:
  Status failed() const { return run_error("{}: cannot write: {}", name_, reason(errno)); }

  // Returns true if no folder lists the file any more, so that it vanishes with its descriptor.
  bool is_removed() const {
    struct stat now {};
    return ::fstat(descriptor_, &now) == 0 && S_ISREG(now.st_mode) && now.st_nlink == 0;
  }

  // Syncs the folder, because a new file is lost if its name is not on disk.
  Status sync_name() const {
    const std::filesystem::path path(name_);
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return {};
    Status status = sync_failed(::fsync(descriptor)) ? failed() : Status();
    ::close(descriptor);
    return status;
  }

  std::string name_;
  int descriptor_;  // -1 once closed
  bool name_synced_ = false;
};

}  // namespace

Result<std::unique_ptr<AppendFile>> append_to_file(const std::filesystem::path& path,
                                                   std::uint64_t bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) return run_error("{}: cannot write: {}", path.string(), reason(errno));
  auto file = std::make_unique<DiskFile>(path.string(), descriptor);
  FL_TRY(file->cut(bytes));
  return file;
}

}  // namespace fairlead
