// Runs every *.case beside it. UPDATE_GOLDEN=1 rewrites the expectations; read the difference like
// code.
#include "testing/case_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = "tests/golden";  // tests run in the root of the repository

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".case") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(Golden, EveryCaseHappensAsWritten) {
  const std::vector<std::string> names = case_names();
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    const fs::path path = kFolder / (name + ".case");
    const auto golden = read_case(path);
    ASSERT_TRUE(golden.has_value()) << golden.error().message;
    const std::vector<std::string> lines = timeline(*golden);
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
      std::ofstream(path) << with_timeline(*golden, lines);
    } else {
      EXPECT_EQ(joined(lines), joined(golden->expected)) << path.string();
    }
  }
}

TEST(Golden, EveryCaseSaysWhatItShows) {
  for (const std::string& name : case_names()) {
    std::ifstream file(kFolder / (name + ".case"));
    EXPECT_EQ(file.get(), '#') << name;
  }
}

TEST(Golden, ADamagedCaseIsAnErrorWithItsLine) {
  const fs::path path = fs::temp_directory_path() / "damaged.case";
  std::ofstream(path)
      << "# Nothing.\ncluster 1xV100:1\njob a gpus none arrive 0s work 1s\nexpect\n";
  const auto golden = read_case(path);
  fs::remove(path);
  ASSERT_FALSE(golden.has_value());
  EXPECT_TRUE(golden.error().message.ends_with("damaged.case:3: not a number of GPUs: none"));
}

}  // namespace
}  // namespace fairlead
