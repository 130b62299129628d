// The header of a block, as blocks.h describes it.
#pragma once

#include "fairlead/base/crc32c.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fairlead {

constexpr std::size_t kBlockCrcBytes = 4;

struct BlockHeader {
  std::uint32_t crc = 0;
  std::uint32_t length = 0;
  std::uint32_t records = 0;
  std::uint64_t number = 0;
  std::uint64_t hash = 0;
};

inline std::uint64_t get_little_endian(std::string_view from, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= std::uint64_t{static_cast<std::uint8_t>(from[at + i])} << (8 * i);
  }
  return value;
}

// REQUIRES: at least kBlockHeaderBytes.
inline BlockHeader get_block_header(std::string_view bytes) {
  return {.crc = static_cast<std::uint32_t>(get_little_endian(bytes, 0, 4)),
          .length = static_cast<std::uint32_t>(get_little_endian(bytes, 4, 4)),
          .records = static_cast<std::uint32_t>(get_little_endian(bytes, 8, 4)),
          .number = get_little_endian(bytes, 12, 8),
          .hash = get_little_endian(bytes, 20, 8)};
}

// Returns the CRC that this block must have. O(bytes).
inline std::uint32_t crc_of_block(std::string_view block) {
  const std::string_view rest = block.substr(kBlockCrcBytes);
  return crc32c({reinterpret_cast<const std::uint8_t*>(rest.data()), rest.size()});
}

}  // namespace fairlead
