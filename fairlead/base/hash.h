// A 64-bit hash of bytes, like FNV-1a but a word of 8 bytes at a time: to name contents, equal on every machine; not
// cryptographic.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace fairlead {

constexpr std::uint64_t kHashStart = 0xcbf29ce484222325;  // FNV's offset

// Continues the hash `hash` with `bytes`. O(bytes). The block boundaries of a stream affect the hash, unless all blocks
// except the last are whole words.
inline std::uint64_t hash_bytes(std::uint64_t hash, std::span<const std::uint8_t> bytes) {
  constexpr std::uint64_t kFnvPrime = 0x100000001b3;
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t count = std::min<std::size_t>(bytes.size(), 8);
    if (std::endian::native == std::endian::little && count == 8) {
      std::memcpy(&word, bytes.data(), 8);
    } else {  // a short last word, or another byte order: the same hash on every machine
      for (std::size_t b = 0; b < count; ++b) word |= std::uint64_t{bytes[b]} << (8 * b);
    }
    hash = (hash ^ word) * kFnvPrime;
    hash ^= hash >> 29;  // multiplication alone never carries high bits down
    bytes = bytes.subspan(count);
  }
  return hash;
}

// Hashes a stream independently of its pieces: hash_bytes(kHashStart, all bytes).
class StreamHash {
 public:
  // O(bytes).
  void add(std::span<const std::uint8_t> bytes) {
    while (count_ > 0 && count_ < word_.size() && !bytes.empty()) {
      word_[count_++] = bytes.front();
      bytes = bytes.subspan(1);
    }
    if (count_ == word_.size()) {
      hash_ = hash_bytes(hash_, word_);
      count_ = 0;
    }
    const std::size_t whole = bytes.size() - bytes.size() % word_.size();
    hash_ = hash_bytes(hash_, bytes.first(whole));
    for (const std::uint8_t byte : bytes.subspan(whole)) word_[count_++] = byte;
  }
  // Returns the hash of the bytes added so far.
  std::uint64_t value() const { return hash_bytes(hash_, std::span(word_).first(count_)); }

 private:
  std::uint64_t hash_ = kHashStart;
  std::array<std::uint8_t, 8> word_{};  // the incomplete last word
  std::size_t count_ = 0;
};

}  // namespace fairlead
