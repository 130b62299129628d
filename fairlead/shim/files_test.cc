#include "fairlead/shim/files.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fairlead::shim {
namespace {

class TaskFilesTest : public testing::Test {
 protected:
  TaskFilesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "fairlead.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~TaskFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(TaskFilesTest, ATaskIsTakenOnce) {
  const Mark first{.boot = "boot", .pid = 12, .started = 345, .cgroup = "/a group"};
  EXPECT_FALSE(read_mark(folder_));
  EXPECT_TRUE(write_mark(folder_, first));
  EXPECT_FALSE(write_mark(folder_, {.boot = "boot", .pid = 13}));
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(read_mark(folder_), first);
}

TEST_F(TaskFilesTest, AFolderThatIsGoneIsNotTaken) {
  EXPECT_FALSE(write_mark(folder_ + "/none", {.boot = "boot"}));
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(TaskFilesTest, ATornMarkIsOfNoProcess) {
  std::ofstream(folder_ + "/shim") << "boot\n";
  const std::optional<Mark> torn = read_mark(folder_);
  ASSERT_TRUE(torn);
  EXPECT_LT(torn->pid, 0);
}

TEST_F(TaskFilesTest, AnEndIsReadAsItWasWritten) {
  EXPECT_FALSE(read_end(folder_));
  EXPECT_TRUE(reserve_end(folder_));
  EXPECT_FALSE(read_end(folder_));
  EXPECT_TRUE(write_end(folder_, {.code = 3, .signal = 0}));
  EXPECT_EQ(read_end(folder_), (End{.code = 3, .signal = 0}));
  EXPECT_FALSE(write_end(folder_ + "/none", {}));
}

}  // namespace
}  // namespace fairlead::shim
