// The address of the API server and our identity: from kubeconfig files, as kubectl reads them, or from the service
// account of the pod in which we run.
//
// Known are clusters with `certificate-authority`, `insecure-skip-tls-verify`, `tls-server-name` and
// `proxy-url`; users with client certificates, `token`, `tokenFile` and `exec` plugins; contexts with
// `namespace`. Data stands in the file (base64) or in a file of its own, whose path is relative to the
// kubeconfig's folder. Users with `auth-provider`, a password or `as` (another user to act for) are
// refused once they are chosen; other keys are left out.
//
// Errors of a file give the position: "config:12:7: what: value".
#pragma once

#include "fairlead/base/result.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {

// A text, usually PEM, in the configuration or in a file. A file is read again whenever it is needed, because others
// replace it while we run.
struct KubeText {
  std::string data{};
  std::string file{};  // absolute, or relative to the working directory; used if `data` is empty
  bool is_given() const { return !data.empty() || !file.empty(); }
};
// Returns nothing for a text that is not given. Error: the file cannot be read, or is longer than 1 MiB.
Result<std::string> read_text(const KubeText& text);

// A program that prints credentials (`exec`).
struct KubePlugin {
  std::string api_version;  // client.authentication.k8s.io/v1 or /v1beta1
  std::string command;      // found by PATH if it has no slash
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // beside our own
  bool wants_cluster = false;  // it receives the cluster (provideClusterInfo)
  std::string hint;            // how to install it, quoted from the file
};

struct KubeUser {
  KubeText certificate;
  KubeText key;
  KubeText token;
  std::optional<KubePlugin> plugin;
  std::string refused;  // why it cannot be used; empty if it can
};

struct KubeCluster {
  std::string server;  // "https://host:port", perhaps with a path; without a slash at its end
  KubeText authority;  // not given: the system's
  bool skip_verify = false;
  std::string server_name;  // the name in the certificate, if it is not the server's
  std::string proxy;
};

struct KubeContext {
  std::string cluster;
  std::string user;
  std::string name_space;
  std::string where;  // "FILE:LINE:COLUMN"
};

// One file, or several merged; the first file with a name wins.
struct KubeConfig {
  std::map<std::string, KubeCluster> clusters;
  std::map<std::string, KubeUser> users;
  std::map<std::string, KubeContext> contexts;
  std::string current;
};

// One way to one server.
struct KubeTarget {
  KubeCluster cluster;
  KubeUser user;
  std::string name_space = "default";
};

// `file` names the text in errors, and paths in it are relative to its folder.
Result<KubeConfig> parse_kubeconfig(std::string_view text, std::string_view file);
// Adds the entries that `config` lacks.
void merge(KubeConfig& config, KubeConfig&& other);
// Returns the target of a context; the current context if it is empty. Error: there is no such context, it names a
// missing entry, or a user that is refused.
Result<KubeTarget> choose(const KubeConfig& config, const std::string& context);

// Finds the target in the environment. `variable` returns the value of a variable, or null, like getenv.
//   - If `context` is given, KUBECONFIG is set, or ~/.kube/config exists: kubeconfig files; missing ones
//     are skipped if at least one exists.
//   - Otherwise the service account of a pod, in `account_folder`.
// Error: neither exists, or its content is wrong.
Result<KubeTarget> find_kube_target(
    const std::string& context, const std::function<const char*(const char*)>& variable,
    const std::string& account_folder = "/var/run/secrets/kubernetes.io/serviceaccount");
// Finds the target in the process's own environment.
Result<KubeTarget> find_kube_target(const std::string& context);

}  // namespace fairlead
