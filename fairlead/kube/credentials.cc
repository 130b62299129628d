#include "fairlead/kube/credentials.h"

#include "fairlead/base/check.h"
#include "fairlead/input/civil_time.h"
#include "fairlead/io/descriptor.h"
#include "fairlead/kube/base64.h"
#include "fairlead/kube/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

namespace fairlead {
namespace {

constexpr std::size_t kOutputBytesMax = std::size_t{1} << 20;

std::string without_blanks(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::int64_t boot_ms() {
  timespec now{};
  FL_CHECK(::clock_gettime(CLOCK_BOOTTIME, &now) == 0);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// Returns the plugin's input (KUBERNETES_EXEC_INFO).
Result<std::string> plugin_input(const KubePlugin& plugin, const KubeCluster& cluster) {
  Json spec = {{"interactive", false}};
  if (plugin.wants_cluster) {
    FL_TRY_ASSIGN(authority, read_text(cluster.authority));
    Json& told = spec["cluster"] = {{"server", cluster.server}};
    if (!authority.empty()) told["certificate-authority-data"] = base64_encoded(authority);
    if (cluster.skip_verify) told["insecure-skip-tls-verify"] = true;
    if (!cluster.server_name.empty()) told["tls-server-name"] = cluster.server_name;
    if (!cluster.proxy.empty()) told["proxy-url"] = cluster.proxy;
  }
  return compact_text(
      {{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}});
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_of(const KubePlugin& plugin, const std::string& input) {
  std::vector<std::pair<std::string, std::string>> added = plugin.environment;
  added.emplace_back("KUBERNETES_EXEC_INFO", input);
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::find(added, name, [](const auto& a) { return std::string_view(a.first); }) ==
        added.end()) {
      all.emplace_back(text);
    }
  }
  for (const auto& [name, value] : added) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

// A process that writes to `output`.
struct Child {
  pid_t pid = -1;
  Descriptor output;
  Descriptor process;  // a pidfd
};

Result<Child> begin(const KubePlugin& plugin, const std::string& input) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return run_error("pipe: {}", std::strerror(errno));
  Child child;
  child.output = Descriptor(ends[0]);
  const Descriptor write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
  std::vector<std::string> words = {plugin.command};
  words.insert(words.end(), plugin.arguments.begin(), plugin.arguments.end());
  std::vector<std::string> environment = environment_of(plugin, input);
  const int error = ::posix_spawnp(&child.pid, plugin.command.c_str(), &actions, nullptr,
                                   pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) {
    child.process = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
    return child;
  }
  return run_error("the credentials plugin {} cannot be run: {}{}{}", plugin.command,
                   std::strerror(error), plugin.hint.empty() ? "" : ": ", plugin.hint);
}

// Waits until a pipe has bytes or ends, or a pidfd's process ends; false after a timeout.
bool can_be_read(const Descriptor& descriptor, std::int64_t end_ms) {
  while (true) {
    pollfd ready = {descriptor.get(), POLLIN, 0};
    const std::int64_t left = std::max<std::int64_t>(end_ms - boot_ms(), 0);
    const int count = ::poll(&ready, 1, static_cast<int>(left));
    if (count >= 0 || errno != EINTR) return count > 0;
  }
}

tl::unexpected<Error> took_too_long() { return run_error("it took too long"); }

// Reads all of its output.
Result<std::string> read_all(const Descriptor& output, std::int64_t end_ms) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    if (!can_be_read(output, end_ms)) return took_too_long();
    const ssize_t bytes = ::read(output.get(), buffer.data(), buffer.size());
    if (bytes < 0) return run_error("{}", std::strerror(errno));
    if (bytes == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
    if (text.size() > kOutputBytesMax) return run_error("it printed too much");
  }
}

Result<KubeCredentials> run_plugin(const KubePlugin& plugin, const KubeCluster& cluster,
                                   int limit_ms) {
  FL_TRY_ASSIGN(input, plugin_input(plugin, cluster));
  FL_TRY_ASSIGN(child, begin(plugin, input));
  const std::int64_t end = boot_ms() + limit_ms;
  Result<std::string> text = read_all(child.output, end);
  // The process may have closed its output and still run.
  if (text && !can_be_read(child.process, end)) text = took_too_long();
  if (!text) ::kill(child.pid, SIGKILL);
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!text) {
    return run_error("the credentials plugin {}: {}", plugin.command, text.error().message);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return run_error("the credentials plugin {} failed (status {})", plugin.command, status);
  }
  return parse_plugin_output(*text, plugin);
}

}  // namespace

Result<KubeCredentials> parse_plugin_output(std::string_view text, const KubePlugin& plugin) {
  const auto wrong = [&](std::string_view what) {
    return run_error("the credentials plugin {}: {}", plugin.command, what);
  };
  const std::optional<Json> output = parsed_json(text);
  if (!output) return wrong("it printed no JSON");
  if (text_at(*output, {"kind"}) != "ExecCredential") return wrong("it printed no ExecCredential");
  if (text_at(*output, {"apiVersion"}) != plugin.api_version) {
    return wrong(fmt::format("it printed another version than {}: {}", plugin.api_version,
                             text_at(*output, {"apiVersion"})));
  }
  KubeCredentials credentials = {
      .token = text_at(*output, {"status", "token"}),
      .certificate = text_at(*output, {"status", "clientCertificateData"}),
      .key = text_at(*output, {"status", "clientKeyData"})};
  if (credentials.certificate.empty() != credentials.key.empty()) {
    return wrong("it printed a certificate without its key, or a key without certificate");
  }
  if (credentials.token.empty() && credentials.key.empty())
    return wrong("it printed no credentials");
  const std::string& expires = text_at(*output, {"status", "expirationTimestamp"});
  if (!expires.empty()) {
    const Parsed<Time> time = parse_utc_time(expires);
    if (!time) return wrong(fmt::format("expirationTimestamp {}: {}", time.error(), expires));
    credentials.expires_unix_ms = time->ms;
  }
  return credentials;
}

Result<KubeCredentials> read_credentials(const KubeTarget& target, int limit_ms) {
  const KubeUser& user = target.user;
  KubeCredentials credentials;
  if (user.plugin) {
    FL_TRY_ASSIGN(printed, run_plugin(*user.plugin, target.cluster, limit_ms));
    credentials = std::move(printed);
  }
  FL_TRY_ASSIGN(token, read_text(user.token));
  FL_TRY_ASSIGN(certificate, read_text(user.certificate));
  FL_TRY_ASSIGN(key, read_text(user.key));
  if (!token.empty()) credentials.token = without_blanks(token);
  if (!certificate.empty()) credentials.certificate = std::move(certificate);
  if (!key.empty()) credentials.key = std::move(key);
  return credentials;
}

}  // namespace fairlead
