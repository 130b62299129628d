#include "fairlead/base/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

namespace fairlead {
namespace {

std::uint32_t crc_of(std::string_view text) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// RFC 3720, B.4, and the check value that catalogues of CRCs give.
TEST(Crc32c, HasThePublishedValues) {
  EXPECT_EQ(crc_of(""), 0u);
  EXPECT_EQ(crc_of("123456789"), 0xe3069283u);
  std::vector<std::uint8_t> bytes(32, 0);
  EXPECT_EQ(crc32c(bytes), 0x8a9136aau);
  std::ranges::fill(bytes, std::uint8_t{0xff});
  EXPECT_EQ(crc32c(bytes), 0x62a8ab43u);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  EXPECT_EQ(crc32c(bytes), 0x46dd794eu);
  std::ranges::reverse(bytes);
  EXPECT_EQ(crc32c(bytes), 0x113fdb5cu);
}

TEST(Crc32c, EveryBitMatters) {
  std::vector<std::uint8_t> bytes(61);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{7});
  const std::uint32_t whole = crc32c(bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    EXPECT_NE(crc32c(bytes), whole) << bit;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
  }
}

}  // namespace
}  // namespace fairlead
