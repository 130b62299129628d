// Runs the `fairlead` program as a shell does, each test in an empty folder of its own.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct Ended {
  int exit_code = -1;
  std::string out;
  std::string errors;
};

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Runs `fairlead ARGUMENTS` in a shell, after the shell command `before` (a limit).
  Ended fairlead(std::string_view arguments, std::string_view before = ":") const;
  // A file of the test's folder.
  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  std::string write(std::string_view name, std::string_view text) const;
  std::string read(std::string_view name) const;
  nlohmann::json read_json(std::string_view name) const;
  // Returns the names in `name`, sorted; empty if it does not exist.
  std::vector<std::string> files(std::string_view name) const;

  // Writes a trace of four jobs of two users that fit a node of 4 GPUs, and returns its path.
  std::string small_trace() const;
  // Returns "simulate" of that trace on that node with fifo into "out", plus `more`.
  std::string simulate(std::string_view more) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace fairlead
