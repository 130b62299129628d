#include "fairlead/local/python_path.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(PythonPath, TheHookComesFirstAndTheJobsOwnPathStays) {
  EXPECT_EQ(python_path("", "/d/hook", true), "/d/hook");
  EXPECT_EQ(python_path("/a:/b", "/d/hook", true), "/d/hook:/a:/b");
  EXPECT_EQ(python_path("/a::/b", "/d/hook", true), "/d/hook:/a::/b");  // an empty folder stays
  EXPECT_EQ(python_path(":/a", "/d/hook", true), "/d/hook::/a");
}

TEST(PythonPath, AJobThatAJobSubmitsHasTheHookAtMostOnce) {
  EXPECT_EQ(python_path("/d/hook:/a", "/d/hook", true), "/d/hook:/a");
  EXPECT_EQ(python_path("/d/hook:/a", "/d/hook", false), "/a");
  EXPECT_EQ(python_path("/d/hook", "/d/hook", false), "");
}

TEST(PythonPath, WithoutTheHookThePathIsTheJobsOwn) {
  EXPECT_EQ(python_path("/a:/b", "/d/hook", false), "/a:/b");
  EXPECT_EQ(python_path("", "/d/hook", false), "");
}

}  // namespace
}  // namespace fairlead
