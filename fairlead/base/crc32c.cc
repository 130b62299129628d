#include "fairlead/base/crc32c.h"

#include <array>
#include <cstddef>

namespace fairlead {
namespace {

constexpr std::size_t kSlices = 8;
using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

// tables[k][b]: the effect of byte b on the check value k bytes later.
constexpr Tables make_tables() {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < kSlices; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

// The index of each step kTables[0] by its upper byte, which identifies it.
constexpr std::array<std::uint8_t, 256> kStepOf = [] {
  std::array<std::uint8_t, 256> step_of{};
  for (std::size_t i = 0; i < 256; ++i) step_of[kTables[0][i] >> 24] = static_cast<std::uint8_t>(i);
  return step_of;
}();

}  // namespace

std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
  std::uint32_t crc = 0xffffffff;
  for (; bytes.size() >= kSlices; bytes = bytes.subspan(kSlices)) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < kSlices; ++i) {
      const std::uint32_t before = i < 4 ? (crc >> (8 * i)) & 0xff : 0;
      sum ^= kTables[kSlices - 1 - i][bytes[i] ^ before];
    }
    crc = sum;
  }
  for (const std::uint8_t byte : bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ byte) & 0xff];
  return ~crc;
}

std::uint32_t crc32c_step_back(std::uint32_t after) {
  const std::uint8_t step = kStepOf[after >> 24];
  return ((after ^ kTables[0][step]) << 8) | step;
}

}  // namespace fairlead
