#include "fairlead/kube/kubeconfig.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTwoClusters = R"(apiVersion: v1
kind: Config
preferences: {}
current-context: lab
clusters:
- name: lab
  cluster:
    server: https://lab.example:6443/
    certificate-authority-data: LS0tQ0EtLS0=
- {name: away, cluster: {server: "https://away.example", insecure-skip-tls-verify: true}}
contexts:
- {name: lab, context: {cluster: lab, user: ann, namespace: vision}}
- {name: away, context: {cluster: away, user: robot}}
- {name: lost, context: {cluster: gone, user: ann}}
users:
- {name: ann, user: {client-certificate: pki/ann.crt, client-key: /keys/ann.key}}
- name: robot
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: ./get-token
      args: [token, --cluster, away]
      env: [{name: AWS_PROFILE, value: lab}]
      interactiveMode: IfAvailable
      provideClusterInfo: true
      installHint: ask the lab
- {name: old, user: {username: ann, password: secret}}
)";

KubeConfig parsed(std::string_view text, std::string_view file = "/etc/kube/config") {
  auto config = parse_kubeconfig(text, file);
  EXPECT_TRUE(config.has_value()) << (config ? "" : config.error().message);
  return config.value_or(KubeConfig());
}

std::string error_of(std::string_view text) {
  const auto config = parse_kubeconfig(text, "config");
  return config ? "no error" : config.error().message;
}

// Has its own folder, which is removed with the test.
class KubeFolder : public testing::Test {
 protected:
  KubeFolder() { fs::create_directories(path_); }
  ~KubeFolder() override { fs::remove_all(path_); }
  std::string write(const std::string& name, std::string_view text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  fs::path path_ = fs::temp_directory_path() / fmt::format("fairlead-kube-{}", ::getpid());
};

TEST(Kubeconfig, TheCurrentContextSaysWhichClusterUserAndNamespace) {
  const auto target = choose(parsed(kTwoClusters), "");
  ASSERT_TRUE(target.has_value()) << target.error().message;
  EXPECT_EQ(target->cluster.server, "https://lab.example:6443");
  EXPECT_EQ(target->cluster.authority.data, "---CA---");
  EXPECT_EQ(target->name_space, "vision");
  EXPECT_EQ(target->user.certificate.file, "/etc/kube/pki/ann.crt");
  EXPECT_EQ(target->user.key.file, "/keys/ann.key");
}

TEST(Kubeconfig, PluginsHaveTheirCommandArgumentsAndEnvironment) {
  const auto target = choose(parsed(kTwoClusters), "away");
  ASSERT_TRUE(target.has_value()) << target.error().message;
  EXPECT_TRUE(target->cluster.skip_verify);
  EXPECT_EQ(target->name_space, "default");
  ASSERT_TRUE(target->user.plugin.has_value());
  const KubePlugin& plugin = *target->user.plugin;
  EXPECT_EQ(plugin.command, "/etc/kube/./get-token");
  EXPECT_EQ(plugin.arguments, (std::vector<std::string>{"token", "--cluster", "away"}));
  ASSERT_EQ(plugin.environment.size(), 1U);
  EXPECT_EQ(plugin.environment[0], std::pair(std::string("AWS_PROFILE"), std::string("lab")));
  EXPECT_TRUE(plugin.wants_cluster);
  EXPECT_EQ(plugin.hint, "ask the lab");
}

TEST(Kubeconfig, AContextWithoutItsClusterIsAnErrorWithItsPlace) {
  const auto target = choose(parsed(kTwoClusters), "lost");
  ASSERT_FALSE(target.has_value());
  EXPECT_EQ(target.error().message, "/etc/kube/config:14:25: no such cluster: gone");
  EXPECT_EQ(choose(parsed(kTwoClusters), "else").error().message,
            "the kubeconfig has no such context: else");
}

TEST(Kubeconfig, AUserThatWeCannotBeIsRefusedOnlyWhereItIsChosen) {
  KubeConfig config = parsed(kTwoClusters);
  config.contexts["old"] = {"lab", "old", "", "config:1:1"};
  EXPECT_TRUE(choose(config, "lab").has_value());
  const auto target = choose(config, "old");
  ASSERT_FALSE(target.has_value());
  EXPECT_EQ(target.error().message,
            "/etc/kube/config:27:32: users with username are not supported");
}

TEST(Kubeconfig, OfSeveralFilesTheFirstThatHasANameWins) {
  KubeConfig config = parsed("contexts: [{name: lab, context: {cluster: away}}]", "/a/config");
  merge(config, parsed(kTwoClusters));
  EXPECT_EQ(config.current, "lab");
  EXPECT_EQ(choose(config, "").value().cluster.server, "https://away.example");
}

TEST(Kubeconfig, ErrorsSayWhere) {
  EXPECT_EQ(error_of("clusters: 7"), "config:1:11: expected a list: 7");
  EXPECT_EQ(error_of("clusters: [{name: a, cluster: {}}]"),
            "config:1:31: the key is missing here: server");
  EXPECT_EQ(error_of("clusters: [{name: a, cluster: {server: 'ftp://a'}}]"),
            "config:1:40: a server must start with https:// or http://: ftp://a");
  EXPECT_EQ(error_of("clusters: [{name: a, cluster: {server: https://a, "
                     "certificate-authority-data: '?'}}]"),
            "config:1:79: expected base64");
  EXPECT_EQ(error_of("users: [{name: a, user: {client-key: a}}]"),
            "config:1:25: client-certificate and client-key come together");
  EXPECT_EQ(error_of("users: [{name: a, user: {exec: {apiVersion: v7, command: a}}}]"),
            "config:1:45: known plugin versions are client.authentication.k8s.io/v1 and "
            "client.authentication.k8s.io/v1beta1: v7");
  EXPECT_TRUE(error_of("a: [").starts_with("config:1:"));
}

TEST(Kubeconfig, WhatKubectlLeavesEmptyIsNotThere) {
  const KubeConfig config = parsed("clusters: null\ncontexts: []\nusers:\ncurrent-context: \"\"\n");
  EXPECT_TRUE(config.clusters.empty() && config.contexts.empty() && config.users.empty());
  EXPECT_TRUE(parsed("").clusters.empty());
}

TEST_F(KubeFolder, KubeconfigNamesFilesOfWhichOneMustBeThere) {
  const std::string one = write("one", kTwoClusters);
  static std::string list;
  const auto variable = [](const char* name) {
    return std::string_view(name) == "KUBECONFIG" ? list.c_str() : nullptr;
  };
  list = path_.string() + "/none:" + one;
  const auto target = find_kube_target("", variable);
  ASSERT_TRUE(target.has_value()) << target.error().message;
  EXPECT_EQ(target->user.certificate.file, (path_ / "pki/ann.crt").string());
  list = path_.string() + "/none";
  EXPECT_EQ(find_kube_target("", variable).error().message,
            "no kubeconfig exists: " + path_.string() + "/none");
}

TEST_F(KubeFolder, APodUsesItsServiceAccount) {
  write("ca.crt", "---CA---");
  write("namespace", "fairlead-system\n");
  const auto variable = [](const char* name) -> const char* {
    const std::string_view asked(name);
    if (asked == "KUBERNETES_SERVICE_HOST") return "fd00::1";
    return asked == "KUBERNETES_SERVICE_PORT" ? "6443" : nullptr;
  };
  EXPECT_FALSE(find_kube_target("", variable, path_.string()).has_value()) << "there is no token";
  write("token", "abc\n");
  const auto target = find_kube_target("", variable, path_.string());
  ASSERT_TRUE(target.has_value()) << target.error().message;
  EXPECT_EQ(target->cluster.server, "https://[fd00::1]:6443");
  EXPECT_EQ(target->name_space, "fairlead-system");
  EXPECT_EQ(read_text(target->cluster.authority).value(), "---CA---");
  EXPECT_EQ(read_text(target->user.token).value(), "abc\n");
}

}  // namespace
}  // namespace fairlead
