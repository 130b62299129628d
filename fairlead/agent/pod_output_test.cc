#include "fairlead/agent/pod_output.h"

#include "fairlead/io/io.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

class PodOutputTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& text, const std::string& file = "0.log") {
    std::ofstream(folder_ / file, std::ios::app | std::ios::binary) << text;
  }
  static std::string line(const std::string& text, const std::string& tag = "F",
                          const std::string& stream = "stdout") {
    return "2026-11-27T09:00:00.123456789Z " + stream + " " + tag + " " + text + "\n";
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / "pod_output_test";
  PodOutput output_{folder_};
};

TEST_F(PodOutputTest, IsEmptyBeforeThereIsAFile) {
  EXPECT_EQ(output_.read().lines, "");
  fs::remove_all(folder_);
  EXPECT_EQ(output_.read().lines, "");
}

TEST_F(PodOutputTest, HasEachLineOnceAndNoUnfinishedOne) {
  write(line("step 1") + "2026-11-27T09:00:01Z stdout F ste");
  EXPECT_EQ(output_.read().lines, "step 1\n");
  EXPECT_EQ(output_.read().lines, "");
  write("p 2\n" + line("") + line("a b  c"));
  EXPECT_EQ(output_.read().lines, "step 2\n\na b  c\n");
}

TEST_F(PodOutputTest, PartsOfALineAreJoinedByStream) {
  write(line("ste", "P") + line("10%\r", "P", "stderr") + line("20", "P:x", "stderr") +
        line("p 3", "F"));
  EXPECT_EQ(output_.read().lines, "10%\rstep 3\n");
  write(line("%", "F", "stderr"));
  EXPECT_EQ(output_.read().lines, "20%\n");
}

TEST_F(PodOutputTest, LinesOfNoContainerRuntimeAreLeftOut) {
  write("step 1\n\n{\"log\":\"step 2\\n\"}\nx stdin F step 3\n" + line("step 4"));
  EXPECT_EQ(output_.read().lines, "step 4\n");
}

TEST_F(PodOutputTest, ARotatedFileIsReadToItsEnd) {
  write(line("1"));
  EXPECT_EQ(output_.read().lines, "1\n");
  write(line("2"));
  fs::rename(folder_ / "0.log", folder_ / "0.log.20261127-090000");
  write(line("3"));
  EXPECT_EQ(output_.read().lines, "2\n3\n");
  fs::rename(folder_ / "0.log", folder_ / "0.log.20261127-090001");
  EXPECT_EQ(output_.read().lines, "") << "the next is not there yet";
  write(line("4"));
  const PodOutput::Text text = output_.read();
  EXPECT_EQ(text.lines, "4\n");
  EXPECT_FALSE(text.is_new);
  EXPECT_FALSE(text.has_gap);
}

TEST_F(PodOutputTest, AFileThatIsCutOffIsReadFromItsBeginning) {
  write(line("1") + line("2"));
  EXPECT_EQ(output_.read().lines, "1\n2\n");
  fs::resize_file(folder_ / "0.log", 0);
  write(line("3"));
  EXPECT_EQ(output_.read().lines, "3\n");
}

TEST_F(PodOutputTest, AContainerThatIsStartedAgainIsNew) {
  write(line("1"));
  EXPECT_FALSE(output_.read().is_new);
  write(line("2"), "1.log");
  write(line("3"), "10.log");
  write(line("x"), "x.log");
  const PodOutput::Text text = output_.read();
  EXPECT_TRUE(text.is_new);
  EXPECT_EQ(text.lines, "3\n");
}

TEST_F(PodOutputTest, OfALongFileTheEndIsRead) {
  for (int i = 0; i < 10'000; ++i) write(line(std::to_string(i) + std::string(50, '.')));
  const PodOutput::Text first = output_.read();
  EXPECT_FALSE(first.has_gap) << "nothing was read before";
  EXPECT_TRUE(first.lines.ends_with("9999" + std::string(50, '.') + "\n"));
  EXPECT_LT(first.lines.size(), 16 * kOutputBytesMax);
  EXPECT_NE(first.lines.front(), '.') << "it begins with a whole line";
  write(std::string(20 * kOutputBytesMax, 'x') + "\n" + line("after"));
  const PodOutput::Text second = output_.read();
  EXPECT_TRUE(second.has_gap);
  EXPECT_EQ(second.lines, "after\n");
}

TEST_F(PodOutputTest, AnEndlessLineCostsNoMemory) {
  for (int i = 0; i < 10; ++i) write(line(std::string(kOutputBytesMax, 'x'), "P"));
  EXPECT_EQ(output_.read().lines, "");
  write(line("end") + line("step 5"));
  EXPECT_TRUE(output_.read().lines.ends_with("step 5\n"));
}

TEST_F(PodOutputTest, LinksAreNotFollowed) {
  const fs::path secret = folder_ / "secret";
  std::ofstream(secret) << line("step 1");
  fs::create_symlink(secret, folder_ / "0.log");
  EXPECT_EQ(output_.read().lines, "");
}

}  // namespace
}  // namespace fairlead
