#include "fairlead/cli/hook.h"

#include "fairlead/base/embedded_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <span>
#include <system_error>

namespace fairlead {

// The files of python/hook, which the build embeds (cmake/Embed.cmake).
std::span<const EmbeddedFile> embedded_hook();

namespace {

using std::filesystem::perms;

constexpr perms kReadable =
    perms::owner_read | perms::owner_write | perms::group_read | perms::others_read;
constexpr perms kPassable = perms::owner_exec | perms::group_exec | perms::others_exec;

bool is_there(const std::filesystem::path& path, std::string_view text) {
  std::ifstream file(path, std::ios::binary);
  return file && std::string(std::istreambuf_iterator<char>(file), {}) == text;
}

}  // namespace

Result<std::filesystem::path> write_hook(const std::filesystem::path& folder) {
  std::filesystem::path hook = std::filesystem::absolute(folder) / "hook";
  std::error_code error;
  std::filesystem::create_directories(hook, error);
  // The umask of a daemon lets no other user read its files.
  if (!error) std::filesystem::permissions(hook, kReadable | kPassable, error);
  for (const EmbeddedFile& file : embedded_hook()) {
    const std::filesystem::path path = hook / fmt::format("{}.py", file.name);
    if (error || is_there(path, file.text)) continue;
    // A job that starts meanwhile finds a whole file.
    const std::filesystem::path part = hook / fmt::format("{}.tmp", file.name);
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    if (!(out << file.text << std::flush)) error = std::make_error_code(std::errc::io_error);
    if (!error) std::filesystem::permissions(part, kReadable, error);
    if (!error) std::filesystem::rename(part, path, error);
  }
  if (!error) return hook;
  return run_error("{}: cannot write the files that count steps: {}; or start with --no-hook",
                   hook.string(), error.message());
}

}  // namespace fairlead
