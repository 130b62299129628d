#include "fairlead/base/hash.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace fairlead {
namespace {

std::vector<std::uint8_t> counting(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
  return bytes;
}

TEST(StreamHash, IsTheHashOfTheWholeWhereverItIsCut) {
  for (std::size_t size = 0; size < 40; ++size) {
    const std::vector<std::uint8_t> bytes = counting(size);
    const std::uint64_t whole = hash_bytes(kHashStart, bytes);
    for (std::size_t first = 0; first <= size; ++first) {
      for (std::size_t second = first; second <= size; ++second) {
        StreamHash hash;
        hash.add(std::span(bytes).first(first));
        hash.add(std::span(bytes).subspan(first, second - first));
        hash.add(std::span(bytes).subspan(second));
        ASSERT_EQ(hash.value(), whole) << size << " cut at " << first << " and " << second;
      }
    }
  }
}

TEST(StreamHash, GoesOnAfterItsValueWasTaken) {
  const std::vector<std::uint8_t> bytes = counting(13);
  StreamHash hash;
  hash.add(std::span(bytes).first(5));
  EXPECT_EQ(hash.value(), hash_bytes(kHashStart, std::span(bytes).first(5)));
  hash.add(std::span(bytes).subspan(5));
  EXPECT_EQ(hash.value(), hash_bytes(kHashStart, bytes));
}

}  // namespace
}  // namespace fairlead
