#include "fairlead/shim/spec.h"

#include <gtest/gtest.h>

namespace fairlead::shim {
namespace {

Spec full() {
  return {.folder = "/state/tasks/1.2",
          .cgroup = "/sys/fs/cgroup/fairlead/1.2",
          .limit_groups = {"/sys/fs/cgroup/cpu/fairlead/1.2", "/sys/fs/cgroup/memory/fairlead/1.2"},
          .becomes_user = true,
          .uid = 1000,
          .gid = 100,
          .groups = {100, 27, 4'000'000'000},
          .umask = 027,
          .open_files = 1024,
          .limits = {0, ~std::uint64_t{0}, 8},
          .niceness = 39,
          .processes = 4,
          .has_terminal = true,
          .directory = "/data/two words",
          .command = {"python", "", "line\nbreak"},
          .environment = {"A=b", "C="}};
}

TEST(Spec, IsReadAsItWasWritten) {
  EXPECT_EQ(decode(encode(full())), full());
  EXPECT_EQ(decode(encode(Spec{})), Spec{});
}

TEST(Spec, IsReadWholeOrNotAtAll) {
  const std::string bytes = encode(full());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode(bytes + "x"));
}

TEST(Spec, NumbersThatAreNoneAreRefused) {
  std::string bytes = encode({.uid = 7777});
  bytes.replace(bytes.find("7777"), 4, "77x7");
  EXPECT_FALSE(decode(bytes));
  bytes.replace(bytes.find("77x7"), 4, "99999999999");  // too large for 32 bits
  EXPECT_FALSE(decode(bytes));
}

}  // namespace
}  // namespace fairlead::shim
