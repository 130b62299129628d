#include "fairlead/io/folder.h"

#include "fairlead/base/check.h"
#include "fairlead/base/parse.h"
#include "fairlead/io/linger.h"
#include "fairlead/shim/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace fairlead {
namespace {

constexpr mode_t kPassage = 0711;

// A name is lost with its folder, if the folder is not on the disk.
Status sync_folder(const std::filesystem::path& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open() && (::fsync(folder.get()) == 0 || errno == EINVAL)) return {};
  return run_error("{}: cannot write: {}", path.string(), std::strerror(errno));
}

// Streams the bytes of a file unchanged, compressed or not.
class FileStream : public ByteStream {
 public:
  FileStream(Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  Result<std::size_t> read(std::span<char> into) override {
    for (;;) {
      const ssize_t count = ::read(file_.get(), into.data(), into.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) return run_error("{}: cannot read: {}", name_, std::strerror(errno));
    }
  }

 private:
  Descriptor file_;
  std::string name_;
};

}  // namespace

Status make_passage(const std::filesystem::path& path) {
  const bool is_there = ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
  if (is_there && ::chmod(path.c_str(), kPassage) == 0) return {};
  return run_error("{}: cannot make the folder: {}", path.string(), std::strerror(errno));
}

Result<Folder> Folder::open(const std::filesystem::path& given) {
  const std::filesystem::path path = std::filesystem::absolute(given);
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) return run_error("{}: cannot make the folder: {}", path.string(), failed.message());
  FL_TRY(make_passage(path));
  const std::string name = (path / "lock").string();
  Descriptor lock(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.is_open()) return run_error("{}: cannot write: {}", name, std::strerror(errno));
  const std::string text = shim::read_file(name).value_or("");
  const std::string_view owner = trimmed(std::string_view(text).substr(0, text.find('\n')));
  const auto takes = [&] { return ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0; };
  if (!becomes_free(static_cast<pid_t>(parse_integer(owner).value_or(0)), takes))
    return run_error("{} is in use by another daemon, process {}", path.string(), owner);
  if (::ftruncate(lock.get(), 0) != 0 ||
      !shim::write_all(lock.get(), fmt::format("{}\n", ::getpid())))
    return run_error("{}: cannot write: {}", name, std::strerror(errno));
  return Folder(path, std::move(lock));
}

std::filesystem::path Folder::path_of(const std::string& name) const {
  const std::filesystem::path relative(name);
  FL_CHECK(!name.empty() && relative.is_relative(), "{}", name);
  FL_CHECK(std::find(relative.begin(), relative.end(), "..") == relative.end(), "{}", name);
  return path_ / relative;
}

Status Folder::make_parent(const std::filesystem::path& path) const {
  const std::filesystem::path parent = path.parent_path();
  if (std::filesystem::is_directory(parent)) return {};
  std::error_code failed;
  std::filesystem::create_directories(parent, failed);
  if (failed) return run_error("{}: cannot make: {}", parent.string(), failed.message());
  for (auto made = parent; made != path_; made = made.parent_path())
    FL_TRY(sync_folder(made.parent_path()));
  return {};
}

Status Folder::write(const std::string& name, std::string_view bytes) const {
  const std::filesystem::path path = path_of(name);
  FL_TRY(make_parent(path));
  FL_TRY_ASSIGN(file, OutputFile::create(path));
  file.write(bytes);
  FL_TRY(file.commit());
  return sync_folder(path.parent_path());
}

Result<std::string> Folder::read(const std::string& name) const {
  const std::string path = path_of(name).string();
  if (auto bytes = shim::read_file(path)) return *std::move(bytes);
  return run_error("{}: cannot read: {}", path, std::strerror(errno));
}

void Folder::remove(const std::string& name) const {
  std::error_code ignored;
  std::filesystem::remove(path_of(name), ignored);
}

std::vector<std::string> Folder::list(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code ended;
  std::filesystem::directory_iterator entry(path_of(folder), ended);
  for (; !ended && entry != std::filesystem::directory_iterator(); entry.increment(ended)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<ByteSource> Folder::stream(const std::string& name) const {
  const std::string path = path_of(name).string();
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return ByteSource::memory("", path);
  if (!file.is_open()) return run_error("{}: cannot read: {}", path, std::strerror(errno));
  return ByteSource(std::make_unique<FileStream>(std::move(file), path), path);
}

Result<std::unique_ptr<AppendFile>> Folder::append_to(const std::string& name,
                                                      std::uint64_t bytes) const {
  const std::filesystem::path path = path_of(name);
  FL_TRY(make_parent(path));
  const Descriptor made(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!made.is_open())
    return run_error("{}: cannot write: {}", path.string(), std::strerror(errno));
  return append_to_file(path, bytes);
}

}  // namespace fairlead
