// CRC-32C, the cyclic redundancy check of iSCSI, ext4 and many logs: Castagnoli's polynomial, which
// finds every error of up to 3 bits in 256 MB and every burst of up to 32 bits.
//
// Sources: Castagnoli et al. 1993; RFC 3720 (the test repeats its values); slicing by 8 after
// Kounavis and Berry 2005. About a byte per cycle.
#pragma once

#include <cstdint>
#include <span>

namespace fairlead {

// Returns the check value of `bytes`. O(bytes).
std::uint32_t crc32c(std::span<const std::uint8_t> bytes);

// Returns the register of the check before a byte that is 0, from the register after it. Two texts that
// differ in one byte differ by this byte in the register there, and by the steps after it at the end.
std::uint32_t crc32c_step_back(std::uint32_t after);

}  // namespace fairlead
