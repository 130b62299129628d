#include "program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace fairlead {
namespace {

std::string contents(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

void ProgramTest::SetUp() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  folder_ = std::filesystem::path(testing::TempDir()) /
            fmt::format("fairlead-{}-{}-{}", test->test_suite_name(), test->name(), getpid());
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
}

void ProgramTest::TearDown() { std::filesystem::remove_all(folder_); }

Ended ProgramTest::fairlead(std::string_view arguments, std::string_view before) const {
  const auto out = std::filesystem::path(folder_.string() + ".out");
  const auto errors = std::filesystem::path(folder_.string() + ".err");
  const std::string command =
      fmt::format("cd '{}' && {{ {} ; {} {} ; }} > '{}' 2> '{}'", folder_.string(), before,
                  FAIRLEAD_PROGRAM, arguments, out.string(), errors.string());
  const int status = std::system(command.c_str());
  Ended ended{WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(errors)};
  std::filesystem::remove(out);
  std::filesystem::remove(errors);
  return ended;
}

std::string ProgramTest::write(std::string_view name, std::string_view text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
  return path(name);
}

std::string ProgramTest::read(std::string_view name) const { return contents(folder_ / name); }

nlohmann::json ProgramTest::read_json(std::string_view name) const {
  return nlohmann::json::parse(read(name), nullptr, false);
}

std::vector<std::string> ProgramTest::files(std::string_view name) const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / name, ignored)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string ProgramTest::small_trace() const {
  return write("jobs.csv",
               "job,user,model,gpus,submit_s,duration_s\n"
               "a,ann,,4,0,100\n"
               "b,bob,,2,10,50\n"
               "c,bob,,2,20,50\n"
               "d,ann,,1,30,5.5\n");
}

std::string ProgramTest::simulate(std::string_view more) const {
  return fmt::format("simulate --cluster 1xV100:4 --trace jobs.csv --policy fifo --out out {}",
                     more);
}

}  // namespace fairlead
