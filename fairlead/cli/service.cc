#include "fairlead/cli/service.h"

#include "fairlead/base/embedded_file.h"
#include "fairlead/base/file.h"
#include "fairlead/io/accounts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fairlead {

// packaging/fairlead.service, which the build embeds (cmake/Embed.cmake).
std::span<const EmbeddedFile> embedded_service_unit();

namespace {

namespace fs = std::filesystem;

constexpr const char* kUnit = "/etc/systemd/system/fairlead.service";
constexpr const char* kGroup = "fairlead";

// A word of a command line of systemd (systemd.service(5), "Command lines").
std::string unit_word(std::string_view word) {
  std::string text;
  for (const char c : word) {
    if (c == '\\' || c == '"') text += '\\';
    text += c;
    if (c == '%' || c == '$') text += c;
  }
  const bool is_plain = !word.empty() && text.find_first_of(" \t'\"\\;") == std::string::npos;
  return is_plain ? text : fmt::format("\"{}\"", text);
}

Status run(const std::vector<std::string>& command) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  int status = ::posix_spawnp(&child, words.front(), nullptr, nullptr, words.data(), environ);
  if (status != 0) return run_error("{}: {}", command.front(), std::strerror(status));
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return run_error("this has failed: {}", fmt::join(command, " "));
}

bool is_systemd_running() {
  std::error_code ignored;
  return fs::exists("/run/systemd/system", ignored);
}

Status check_root(std::string_view flag) {
  if (::geteuid() == 0) return {};
  return input_error("a service is root's: sudo fairlead serve {}", flag);
}

// Returns the path of this program. Its companions are in the same folder.
Result<fs::path> own_program() {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return run_error("/proc/self/exe: {}", error.message());
  const fs::path shim = program.parent_path() / "fairlead-shim";
  if (!fs::exists(shim, error)) return run_error("{} is not there", shim.string());
  struct stat status {};
  if (::stat(program.c_str(), &status) == 0 && status.st_uid != 0) {
    fmt::print(stderr, "fairlead: {} is {}'s, who can thereby act as root here\n", program.string(),
               account_name(status.st_uid));
  }
  return program;
}

}  // namespace

std::string service_unit(std::string_view program, const std::vector<std::string>& arguments) {
  std::string command = unit_word(program) + " serve";
  for (const std::string& argument : arguments) command += " " + unit_word(argument);
  constexpr std::string_view kPackaged = "/usr/bin/fairlead serve";
  std::string unit(embedded_service_unit().front().text);
  return unit.replace(unit.find(kPackaged), kPackaged.size(), command);
}

Status install_service(const std::vector<std::string>& arguments) {
  FL_TRY(check_root("--install"));
  FL_TRY_ASSIGN(program, own_program());
  std::error_code ignored;
  if (!fs::is_directory(fs::path(kUnit).parent_path(), ignored)) {
    return run_error("this machine has no systemd: {} does not exist",
                     fs::path(kUnit).parent_path().string());
  }
  if (!find_group(kGroup)) FL_TRY(run({"groupadd", "--system", kGroup}));
  FL_TRY_ASSIGN(file, OutputFile::create(kUnit));
  file.write(service_unit(program.string(), arguments));
  FL_TRY(file.commit());
  fmt::print("{} is written; members of the group {} administer: adduser NAME {}\n", kUnit, kGroup,
             kGroup);
  std::fflush(stdout);
  if (!is_systemd_running()) {
    fmt::print("systemd is not running; once it is: systemctl enable --now fairlead\n");
    return {};
  }
  FL_TRY(run({"systemctl", "daemon-reload"}));
  FL_TRY(run({"systemctl", "enable", "fairlead"}));
  FL_TRY(run({"systemctl", "restart", "fairlead"}));
  fmt::print("the service is started: systemctl status fairlead\n");
  return {};
}

Status uninstall_service() {
  FL_TRY(check_root("--uninstall"));
  std::error_code error;
  if (!fs::exists(kUnit, error)) return input_error("no such service was installed: {}", kUnit);
  if (is_systemd_running()) FL_TRY(run({"systemctl", "disable", "--now", "fairlead"}));
  fs::remove(kUnit, error);
  if (error) return run_error("{}: {}", kUnit, error.message());
  if (is_systemd_running()) FL_TRY(run({"systemctl", "daemon-reload"}));
  fmt::print(
      "{} is removed; jobs that run go on to their end; the group {} and /var/lib/fairlead stay\n",
      kUnit, kGroup);
  return {};
}

}  // namespace fairlead
