#include "fairlead/kube/kubeconfig.h"

#include "fairlead/base/file.h"
#include "fairlead/input/yaml_reader.h"
#include "fairlead/kube/base64.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTextBytesMax = std::size_t{1} << 20;
constexpr std::array<std::string_view, 2> kPluginVersions = {
    "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"};

Result<std::string> read_file(const std::string& path) {
  FL_TRY_ASSIGN(source, ByteSource::open(path));
  FL_TRY_ASSIGN(text, source.peek(kTextBytesMax + 1));
  if (text.size() <= kTextBytesMax) return std::string(text);
  return input_error("{}: has more than {} bytes", path, kTextBytesMax);
}

std::string first_word(const std::string& text) {
  const std::size_t end = text.find_first_of(" \r\n");
  return text.substr(0, end);
}

// Reads the maps and words of one file.
class Reader {
 public:
  explicit Reader(std::string_view file) : folder_(fs::path(file).parent_path()) {}

  Result<KubeConfig> config(const YamlNode& root) const;

 private:
  using Text = Result<std::string>;

  // Returns the word of a key; empty if there is none.
  static Text word(const YamlNode& map, std::string_view key);
  static Result<bool> truth(const YamlNode& map, std::string_view key);
  // Returns the items of a list; none if there is no list.
  static Result<std::vector<YamlNode>> list(const YamlNode& map, std::string_view key);
  // Calls `add` with the name and the value of each item of a list of named things.
  template <class Add>
  static Status each(const YamlNode& root, std::string_view list_key, std::string_view key,
                     const Add& add);
  std::string path(const std::string& file) const;
  Result<KubeText> text(const YamlNode& map, const std::string& key) const;
  Result<KubeCluster> cluster(const YamlNode& map) const;
  static Result<KubeContext> context(const YamlNode& map);
  Result<KubeUser> user(const YamlNode& map) const;
  Result<KubePlugin> plugin(const YamlNode& map) const;
  static std::string refused(const YamlNode& user);

  fs::path folder_;
};

Reader::Text Reader::word(const YamlNode& map, std::string_view key) {
  const auto value = map.find(key);
  if (!value || value->is_empty()) return std::string();
  return value->text();
}

Result<bool> Reader::truth(const YamlNode& map, std::string_view key) {
  FL_TRY_ASSIGN(value, word(map, key));
  if (value == "true") return true;
  if (value.empty() || value == "false") return false;
  return map.find(key)->bad_value("expected true or false");
}

Result<std::vector<YamlNode>> Reader::list(const YamlNode& map, std::string_view key) {
  const auto value = map.find(key);
  if (!value || value->is_empty()) return std::vector<YamlNode>();
  if (value->is_list()) return value->items().value_or(std::vector<YamlNode>());
  return value->bad_value("expected a list");
}

template <class Add>
Status Reader::each(const YamlNode& root, std::string_view list_key, std::string_view key,
                    const Add& add) {
  FL_TRY_ASSIGN(items, list(root, list_key));
  for (const YamlNode& item : items) {
    FL_TRY(item.pairs());
    FL_TRY_ASSIGN(name_node, item.get("name"));
    FL_TRY_ASSIGN(name, name_node.text());
    const auto value = item.find(key);
    if (!value || value->is_empty()) continue;  // `kubectl config unset` leaves an empty value
    FL_TRY(value->pairs());
    FL_TRY(add(name, *value));
  }
  return {};
}

std::string Reader::path(const std::string& file) const {
  const fs::path named(file);
  return named.is_absolute() ? file : (folder_ / named).string();
}

// Data in the kubeconfig takes precedence over a separate file.
Result<KubeText> Reader::text(const YamlNode& map, const std::string& key) const {
  KubeText text;
  FL_TRY_ASSIGN(data, word(map, key + "-data"));
  FL_TRY_ASSIGN(file, word(map, key));
  if (!data.empty()) {
    auto decoded = base64_decoded(data);
    if (!decoded) return map.find(key + "-data")->error("expected base64");
    text.data = std::move(*decoded);
  } else if (!file.empty()) {
    text.file = path(file);
  }
  return text;
}

Result<KubeCluster> Reader::cluster(const YamlNode& map) const {
  KubeCluster cluster;
  FL_TRY_ASSIGN(server_node, map.get("server"));
  FL_TRY_ASSIGN(server, server_node.text());
  if (!server.starts_with("https://") && !server.starts_with("http://")) {
    return server_node.bad_value("a server must start with https:// or http://");
  }
  while (server.ends_with('/')) server.pop_back();
  FL_TRY_ASSIGN(authority, text(map, "certificate-authority"));
  FL_TRY_ASSIGN(skip_verify, truth(map, "insecure-skip-tls-verify"));
  FL_TRY_ASSIGN(server_name, word(map, "tls-server-name"));
  FL_TRY_ASSIGN(proxy, word(map, "proxy-url"));
  if (skip_verify && authority.is_given()) {
    return map.error("insecure-skip-tls-verify and a certificate-authority exclude each other");
  }
  return KubeCluster{server, authority, skip_verify, server_name, proxy};
}

Result<KubeContext> Reader::context(const YamlNode& map) {
  FL_TRY_ASSIGN(cluster, word(map, "cluster"));
  FL_TRY_ASSIGN(user, word(map, "user"));
  FL_TRY_ASSIGN(name_space, word(map, "namespace"));
  return KubeContext{cluster, user, name_space, map.where()};
}

// Returns the credentials that we do not support: without them we would act as another user than the file intends.
std::string Reader::refused(const YamlNode& user) {
  for (const std::string_view key : {"auth-provider", "username", "password", "as"}) {
    const auto value = user.find(key);
    if (value && !value->is_empty()) {
      return fmt::format("{}: users with {} are not supported", value->where(), key);
    }
  }
  return {};
}

Result<KubeUser> Reader::user(const YamlNode& map) const {
  KubeUser user;
  user.refused = refused(map);
  FL_TRY_ASSIGN(certificate, text(map, "client-certificate"));
  FL_TRY_ASSIGN(key, text(map, "client-key"));
  if (certificate.is_given() != key.is_given()) {
    return map.error("client-certificate and client-key come together");
  }
  FL_TRY_ASSIGN(token, word(map, "token"));
  FL_TRY_ASSIGN(token_file, word(map, "tokenFile"));
  user.certificate = std::move(certificate);
  user.key = std::move(key);
  // kubectl prefers the file to the text, so that a token cached here is not used.
  if (!token_file.empty()) {
    user.token.file = path(token_file);
  } else {
    user.token.data = std::move(token);
  }
  const auto exec = map.find("exec");
  if (exec && !exec->is_empty()) {
    FL_TRY_ASSIGN(with, plugin(*exec));
    user.plugin = std::move(with);
  }
  return user;
}

Result<KubePlugin> Reader::plugin(const YamlNode& map) const {
  KubePlugin plugin;
  FL_TRY(map.pairs());
  FL_TRY_ASSIGN(version_node, map.get("apiVersion"));
  FL_TRY_ASSIGN(version, version_node.text());
  if (std::ranges::find(kPluginVersions, version) == kPluginVersions.end()) {
    return version_node.bad_value(
        fmt::format("known plugin versions are {}", fmt::join(kPluginVersions, " and ")));
  }
  plugin.api_version = std::move(version);
  FL_TRY_ASSIGN(command_node, map.get("command"));
  FL_TRY_ASSIGN(command, command_node.text());
  plugin.command = command.find('/') == command.npos ? command : path(command);
  FL_TRY_ASSIGN(arguments, list(map, "args"));
  for (const YamlNode& argument : arguments) {
    if (!argument.is_scalar()) return argument.bad_value("expected a word");
    plugin.arguments.push_back(argument.is_empty() ? "" : argument.text().value());
  }
  FL_TRY_ASSIGN(variables, list(map, "env"));
  for (const YamlNode& variable : variables) {
    FL_TRY_ASSIGN(name_node, variable.get("name"));
    FL_TRY_ASSIGN(name, name_node.text());
    FL_TRY_ASSIGN(value, word(variable, "value"));
    plugin.environment.emplace_back(std::move(name), std::move(value));
  }
  FL_TRY_ASSIGN(wants_cluster, truth(map, "provideClusterInfo"));
  plugin.wants_cluster = wants_cluster;
  FL_TRY_ASSIGN(hint, word(map, "installHint"));
  plugin.hint = std::move(hint);
  return plugin;
}

Result<KubeConfig> Reader::config(const YamlNode& root) const {
  KubeConfig config;
  if (root.is_empty()) return config;  // `kubectl config` starts with an empty file
  FL_TRY(root.pairs());
  FL_TRY(each(root, "clusters", "cluster",
              [&](const std::string& name, const YamlNode& map) -> Status {
                FL_TRY_ASSIGN(made, cluster(map));
                config.clusters.try_emplace(name, std::move(made));
                return {};
              }));
  FL_TRY(each(root, "users", "user", [&](const std::string& name, const YamlNode& map) -> Status {
    FL_TRY_ASSIGN(made, user(map));
    config.users.try_emplace(name, std::move(made));
    return {};
  }));
  FL_TRY(each(root, "contexts", "context",
              [&](const std::string& name, const YamlNode& map) -> Status {
                FL_TRY_ASSIGN(made, context(map));
                config.contexts.try_emplace(name, std::move(made));
                return {};
              }));
  FL_TRY_ASSIGN(current, word(root, "current-context"));
  config.current = std::move(current);
  return config;
}

// Returns the parts of a KUBECONFIG.
std::vector<std::string> paths_of(std::string_view list) {
  std::vector<std::string> paths;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end > 0) paths.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return paths;
}

Result<KubeTarget> target_of_files(const std::vector<std::string>& paths,
                                   const std::string& context) {
  KubeConfig config;
  bool found = false;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    found = true;
    FL_TRY_ASSIGN(text, read_file(path));
    FL_TRY_ASSIGN(parsed, parse_kubeconfig(text, path));
    merge(config, std::move(parsed));
  }
  if (!found) return input_error("no kubeconfig exists: {}", fmt::join(paths, ":"));
  return choose(config, context);
}

Result<KubeTarget> target_of_pod(const char* host, const char* port, const std::string& folder) {
  KubeTarget target;
  const std::string_view name(host);
  const bool is_ipv6 = name.find(':') != name.npos;
  target.cluster.server = fmt::format("https://{}:{}", is_ipv6 ? fmt::format("[{}]", name) : name,
                                      port == nullptr ? "443" : port);
  target.cluster.authority.file = folder + "/ca.crt";
  target.user.token.file = folder + "/token";
  FL_TRY(read_text(target.cluster.authority));
  FL_TRY(read_text(target.user.token));
  if (const auto own = read_file(folder + "/namespace")) target.name_space = first_word(*own);
  return target;
}

}  // namespace

Result<std::string> read_text(const KubeText& text) {
  if (!text.data.empty() || text.file.empty()) return text.data;
  return read_file(text.file);
}

Result<KubeConfig> parse_kubeconfig(std::string_view text, std::string_view file) {
  FL_TRY_ASSIGN(root, YamlNode::parse(text, file));
  return Reader(file).config(root);
}

void merge(KubeConfig& config, KubeConfig&& other) {
  config.clusters.merge(other.clusters);
  config.users.merge(other.users);
  config.contexts.merge(other.contexts);
  if (config.current.empty()) config.current = std::move(other.current);
}

Result<KubeTarget> choose(const KubeConfig& config, const std::string& context) {
  const std::string& name = context.empty() ? config.current : context;
  if (name.empty()) return input_error("the kubeconfig has no current-context: name a context");
  const auto found = config.contexts.find(name);
  if (found == config.contexts.end()) {
    return input_error("the kubeconfig has no such context: {}", name);
  }
  const KubeContext& chosen = found->second;
  const auto cluster = config.clusters.find(chosen.cluster);
  if (cluster == config.clusters.end()) {
    return input_error("{}: no such cluster: {}", chosen.where, chosen.cluster);
  }
  KubeTarget target;
  target.cluster = cluster->second;
  if (!chosen.user.empty()) {
    const auto user = config.users.find(chosen.user);
    if (user == config.users.end()) {
      return input_error("{}: no such user: {}", chosen.where, chosen.user);
    }
    if (!user->second.refused.empty()) return input_error("{}", user->second.refused);
    target.user = user->second;
  }
  if (!chosen.name_space.empty()) target.name_space = chosen.name_space;
  return target;
}

Result<KubeTarget> find_kube_target(const std::string& context,
                                    const std::function<const char*(const char*)>& variable,
                                    const std::string& account_folder) {
  const char* const files = variable("KUBECONFIG");
  if (files != nullptr && *files != '\0') return target_of_files(paths_of(files), context);
  const char* const home = variable("HOME");
  const std::string own = fmt::format("{}/.kube/config", home == nullptr ? "" : home);
  std::error_code error;
  if (!context.empty() || fs::exists(own, error)) return target_of_files({own}, context);
  const char* const host = variable("KUBERNETES_SERVICE_HOST");
  if (host != nullptr && *host != '\0') {
    return target_of_pod(host, variable("KUBERNETES_SERVICE_PORT"), account_folder);
  }
  return input_error(
      "no API server is known: KUBECONFIG is not set, this process is not in a pod, and {} does "
      "not exist",
      own);
}

Result<KubeTarget> find_kube_target(const std::string& context) {
  return find_kube_target(context,
                          [](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace fairlead
