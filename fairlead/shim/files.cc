#include "fairlead/shim/files.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

namespace fairlead::shim {
namespace {

std::string path_of(const std::string& folder, std::string_view name) {
  return folder + "/" + std::string(name);
}

constexpr std::size_t kEndBytes = 32;

// Writes the first bytes of a file, and creates it if needed; `flags`: O_TRUNC, or 0.
bool write_over(const std::string& path, std::string_view bytes, int flags, bool is_synced) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
  if (descriptor < 0) return false;
  const bool is_written = write_all(descriptor, bytes) && (!is_synced || fsync(descriptor) == 0);
  return close(descriptor) == 0 && is_written;
}

// A file of that name with these bytes, under construction.
bool write_new(const std::string& path, std::string_view bytes) {
  return write_over(path, bytes, O_TRUNC, false);
}

bool sync_folder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is_synced = fsync(descriptor) == 0 || errno == EINVAL;
  close(descriptor);
  return is_synced;
}

}  // namespace

bool write_mark(const std::string& folder, const Mark& mark) {
  const std::string path = path_of(folder, kMarkFile);
  const std::string made = path + "." + std::to_string(getpid());
  std::ostringstream text;
  text << mark.boot << '\n' << mark.pid << '\n' << mark.started << '\n' << mark.cgroup << '\n';
  for (const std::string& group : mark.limit_groups) text << group << '\n';
  // A link appears with the file's full content, and never replaces another.
  const bool is_mine = write_new(made, text.str()) && link(made.c_str(), path.c_str()) == 0;
  const int error = errno;
  unlink(made.c_str());
  errno = error;
  return is_mine;
}

std::optional<Mark> read_mark(const std::string& folder) {
  const std::optional<std::string> text = read_file(path_of(folder, kMarkFile));
  if (!text) return std::nullopt;
  Mark mark;
  std::istringstream lines(*text);
  // A mark torn by a loss of power belongs to an earlier boot of the machine.
  if (!(lines >> mark.boot >> mark.pid >> mark.started)) return Mark{.boot = "torn", .pid = -1};
  lines.ignore();
  std::getline(lines, mark.cgroup);
  for (std::string group; std::getline(lines, group);) mark.limit_groups.push_back(group);
  return mark;
}

bool reserve_end(const std::string& folder) {
  return write_new(path_of(folder, kEndFile) + ".new", std::string(kEndBytes, '\n'));
}

// Overwrites the reserved bytes one by one: a full disk has room for that.
bool write_end(const std::string& folder, End end) {
  const std::string path = path_of(folder, kEndFile);
  const std::string made = path + ".new";
  std::string text = std::to_string(end.code) + " " + std::to_string(end.signal) + " " +
                     (end.was_asked ? "1" : "0") + "\n";
  text.resize(kEndBytes, '\n');
  return write_over(made, text, 0, true) && rename(made.c_str(), path.c_str()) == 0 &&
         sync_folder(folder);
}

void write_interrupted(const std::string& folder) { write_new(path_of(folder, kAskedFile), {}); }

bool was_interrupted(const std::string& folder) {
  return access(path_of(folder, kAskedFile).c_str(), F_OK) == 0;
}

std::optional<End> read_end(const std::string& folder) {
  const std::optional<std::string> text = read_file(path_of(folder, kEndFile));
  if (!text) return std::nullopt;
  End end;
  std::istringstream fields(*text);
  if (!(fields >> end.code >> end.signal >> end.was_asked)) return std::nullopt;
  return end;
}

std::optional<std::string> read_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::optional<std::string> bytes = read_all(descriptor);
  close(descriptor);
  return bytes;
}

std::optional<std::string> read_all(int descriptor) {
  std::string bytes;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count == 0) return bytes;
    if (count > 0) bytes.append(buffer, static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return std::nullopt;
  }
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count >= 0) bytes.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return false;
  }
  return true;
}

}  // namespace fairlead::shim
