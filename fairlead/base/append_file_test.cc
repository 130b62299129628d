#include "fairlead/base/append_file.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::uint8_t, 3> kBytes = {'a', 'b', 'c'};

class AppendFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "append_file_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::ofstream(folder_ / "log") << "0123456789";
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(AppendFileTest, AppendsBehindTheBytesThatItKeeps) {
  auto file = append_to_file(folder_ / "log", 2);
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->append(kBytes));
  EXPECT_TRUE((*file)->close());
  std::string text;
  std::ifstream(folder_ / "log") >> text;
  EXPECT_EQ(text, "01abc");
}

TEST_F(AppendFileTest, AFileThatWasRemovedCannotBeSynced) {
  auto file = append_to_file(folder_ / "log", 10);
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->append(kBytes));
  EXPECT_TRUE((*file)->sync());
  fs::remove_all(folder_);
  EXPECT_TRUE((*file)->append(kBytes));  // the kernel still takes them
  const Status synced = (*file)->sync();
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().message,
            (folder_ / "log").string() + ": it was removed while it was in use");
}

TEST_F(AppendFileTest, AFileThatWasMovedIsStillThere) {
  auto file = append_to_file(folder_ / "log", 10);
  ASSERT_TRUE(file);
  fs::rename(folder_ / "log", folder_ / "other");
  EXPECT_TRUE((*file)->append(kBytes));
  EXPECT_TRUE((*file)->close());
}

}  // namespace
}  // namespace fairlead
