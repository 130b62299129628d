#include "fairlead/base/bytes.h"

namespace fairlead {

std::uint64_t Reader::u64() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; ok_ && i < rest_.size() && i < 10; ++i) {
    const std::uint64_t bits = rest_[i] & 0x7f;
    if (i == 9 && bits > 1) break;  // more than 64 bits
    value |= bits << (7 * i);
    if ((rest_[i] & 0x80) == 0) {
      rest_.remove_prefix(i + 1);
      return value;
    }
  }
  ok_ = false;
  return 0;
}

std::uint32_t Reader::u32() {
  const std::uint64_t value = u64();
  if (value <= 0xffffffff) return static_cast<std::uint32_t>(value);
  ok_ = false;
  return 0;
}

std::int64_t Reader::i64() {
  const std::uint64_t value = u64();
  return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
}

std::string Reader::text() {
  const std::uint64_t size = u64();
  if (!ok_ || size > rest_.size()) {
    ok_ = false;
    return {};
  }
  std::string value(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(size));
  rest_.remove_prefix(size);
  return value;
}

}  // namespace fairlead
