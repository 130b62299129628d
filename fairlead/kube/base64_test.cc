#include "fairlead/kube/base64.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Base64, IsReadWithAndWithoutPadding) {
  EXPECT_EQ(base64_decoded("YQ=="), "a");
  EXPECT_EQ(base64_decoded("YQ"), "a");
  EXPECT_EQ(base64_decoded("YWJ\nj"), "abc");
  EXPECT_EQ(base64_decoded(""), "");
  EXPECT_EQ(base64_decoded("/+8="), "\xff\xef");
  for (const char* wrong : {"Y", "YQ=", "YQ=a", "Y*==", "YQ==="}) {
    EXPECT_EQ(base64_decoded(wrong), std::nullopt) << wrong;
  }
}

TEST(Base64, ReturnsWhatWasWritten) {
  EXPECT_EQ(base64_encoded("a"), "YQ==");
  EXPECT_EQ(base64_encoded("ab"), "YWI=");
  EXPECT_EQ(base64_encoded("abc"), "YWJj");
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(base64_decoded(base64_encoded(bytes)), bytes);
    bytes.push_back(static_cast<char>(i));
  }
}

}  // namespace
}  // namespace fairlead
