#include "fairlead/cli/service.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Returns the lines of a unit that start with `begin`.
std::vector<std::string> lines_with(const std::string& unit, std::string_view begin) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < unit.size();) {
    const std::size_t end = std::min(unit.find('\n', at), unit.size());
    const std::string line = unit.substr(at, end - at);
    if (line.starts_with(begin)) lines.push_back(line);
    at = end + 1;
  }
  return lines;
}

TEST(Service, TheUnitIsThatOfThePackageWithThisProgramAndItsFlags) {
  const std::string packaged = service_unit("/usr/bin/fairlead", {});
  EXPECT_EQ(lines_with(packaged, "ExecStart="),
            (std::vector<std::string>{"ExecStart=/usr/bin/fairlead serve"}));
  EXPECT_EQ(lines_with(packaged, "KillMode="), (std::vector<std::string>{"KillMode=process"}));
  const std::string own =
      service_unit("/opt/fairlead", {"--nodes", "4xV100,4xK80@0.25", "--grace", "90"});
  EXPECT_EQ(lines_with(own, "ExecStart="),
            (std::vector<std::string>{
                "ExecStart=/opt/fairlead serve --nodes 4xV100,4xK80@0.25 --grace 90"}));
  EXPECT_EQ(own.size() - lines_with(own, "ExecStart=").front().size(),
            packaged.size() - lines_with(packaged, "ExecStart=").front().size());
}

TEST(Service, WhatSystemdWouldReadAsSomethingElseIsQuoted) {
  const std::string unit =
      service_unit("/srv/a b/fairlead", {"--folder", "/50%/$HOME", "--nodes", "", "\\\""});
  EXPECT_EQ(lines_with(unit, "ExecStart=").front(),
            R"(ExecStart="/srv/a b/fairlead" serve --folder /50%%/$$HOME --nodes "" "\\\"")");
}

}  // namespace
}  // namespace fairlead
