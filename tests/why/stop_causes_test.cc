// docs/why.md repeats the table of the causes of a stop.

#include "fairlead/model/stop_cause.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace fairlead {
namespace {

TEST(StopCauses, TheDocsHaveEachWithItsMeaning) {
  std::ostringstream page;
  page << std::ifstream("docs/why.md").rdbuf();
  for (std::size_t i = 0; i < kStopCauses; ++i) {
    const StopCauseInfo& info = stop_cause_info(static_cast<StopCause>(i));
    const std::string row = fmt::format("| {} | `{}` | {} |\n", i, info.name, info.text);
    EXPECT_NE(page.str().find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace fairlead
