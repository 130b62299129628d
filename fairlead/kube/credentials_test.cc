#include "fairlead/kube/credentials.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVersion = "client.authentication.k8s.io/v1";

KubePlugin plugin() { return {kVersion, "get-token", {}, {}, false, "ask the lab"}; }

std::string error_of(std::string_view output) {
  const auto credentials = parse_plugin_output(output, plugin());
  return credentials ? "no error" : credentials.error().message;
}

TEST(Credentials, APluginPrintsATokenAndWhenItExpires) {
  const auto credentials = parse_plugin_output(
      R"({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
          "status": {"token": "abc", "expirationTimestamp": "1970-01-01T00:01:00Z"}})",
      plugin());
  ASSERT_TRUE(credentials.has_value()) << credentials.error().message;
  EXPECT_EQ(credentials->token, "abc");
  EXPECT_EQ(credentials->expires_unix_ms, 60'000);
}

TEST(Credentials, WhatIsNoneIsAnErrorThatSaysSo) {
  const std::string head =
      R"({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": )";
  EXPECT_EQ(error_of("oops"), "the credentials plugin get-token: it printed no JSON");
  EXPECT_EQ(error_of("{}"), "the credentials plugin get-token: it printed no ExecCredential");
  EXPECT_EQ(error_of(R"({"kind": "ExecCredential", "apiVersion": "v7"})"),
            "the credentials plugin get-token: it printed another version than "
            "client.authentication.k8s.io/v1: v7");
  EXPECT_EQ(error_of(head + "{}}"), "the credentials plugin get-token: it printed no credentials");
  EXPECT_EQ(error_of(head + R"({"clientKeyData": "k"}})"),
            "the credentials plugin get-token: it printed a certificate without its key, or a key "
            "without certificate");
  EXPECT_EQ(error_of(head + R"({"token": "a", "expirationTimestamp": "soon"}})"),
            "the credentials plugin get-token: expirationTimestamp must be a time, such as "
            "2017-10-09 07:01:59: soon");
}

class PluginTest : public testing::Test {
 protected:
  PluginTest() { fs::create_directories(folder_); }
  ~PluginTest() override { fs::remove_all(folder_); }
  // A plugin that is this script.
  KubeTarget target(const std::string& script) const {
    const fs::path file = folder_ / "plugin";
    std::ofstream(file) << "#!/bin/sh\n" << script;
    fs::permissions(file, fs::perms::owner_all);
    KubeTarget target;
    target.cluster.server = "https://lab.example";
    target.cluster.authority.data = "---CA---";
    target.user.plugin =
        KubePlugin{kVersion, file, {"one", "two words"}, {{"EXTRA", "more"}}, true, ""};
    return target;
  }
  fs::path folder_ = fs::temp_directory_path() / fmt::format("fairlead-plugin-{}", ::getpid());
};

TEST_F(PluginTest, IsGivenItsArgumentsItsEnvironmentAndTheCluster) {
  const auto credentials = read_credentials(target(
      R"(test "$KUBERNETES_EXEC_INFO" = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":{"certificate-authority-data":"LS0tQ0EtLS0=","server":"https://lab.example"},"interactive":false}}' || exit 7
printf '{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",'
printf '"status": {"token": "%s-%s-%s"}}' "$1" "$2" "$EXTRA")"));
  ASSERT_TRUE(credentials.has_value()) << credentials.error().message;
  EXPECT_EQ(credentials->token, "one-two words-more");
}

TEST_F(PluginTest, ThatFailsOrHangsOrIsNotThereIsAnError) {
  EXPECT_NE(read_credentials(target("exit 3")).error().message.find("failed"), std::string::npos);
  for (const char* script : {"exec cat /dev/zero > /dev/null", "exec tail -f /dev/null"}) {
    const auto hung = read_credentials(target(script), 50);
    EXPECT_NE(hung.error().message.find("it took too long"), std::string::npos)
        << hung.error().message;
  }
  KubeTarget none = target("");
  none.user.plugin->command = folder_ / "none";
  none.user.plugin->hint = "ask the lab";
  EXPECT_NE(read_credentials(none).error().message.find("No such file or directory: ask the lab"),
            std::string::npos);
}

}  // namespace
}  // namespace fairlead
