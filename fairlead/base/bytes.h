// Writer and Reader: a compact byte encoding for the journal and for saved policy state.
//
// Integers are varints (LEB128; signed ones zigzag first), strings are length and bytes. The
// encoding is the same on every machine. A Reader never trusts its input: after any truncated or
// oversized item it is !ok(), and every later read returns zero or empty.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

class Writer {
 public:
  void u64(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  void i64(std::int64_t value) {
    u64((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    u64(value.size());
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
  void time(Time value) { i64(value.ms); }
  void real(double value) { u64(std::bit_cast<std::uint64_t>(value)); }  // all 64 bits
  template <class Tag>
  void id(Id<Tag> value) {
    u64(value.is_none() ? 0 : std::uint64_t{value.row()} + 1);
  }

  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::vector<std::uint8_t> bytes_;
};

class Reader {
 public:
  explicit Reader(std::basic_string_view<std::uint8_t> bytes) : rest_(bytes) {}
  explicit Reader(const std::vector<std::uint8_t>& bytes) : rest_(bytes.data(), bytes.size()) {}

  std::uint64_t u64();
  std::uint32_t u32();  // !ok() if it takes more than 32 bits
  std::int64_t i64();
  std::string text();
  Time time() { return {i64()}; }
  double real() { return std::bit_cast<double>(u64()); }
  template <class IdType>
  IdType id() {
    const std::uint32_t value = u32();
    return value == 0 ? IdType() : IdType(std::size_t{value} - 1);
  }

  // Makes the reader !ok(): what was read makes no sense.
  void fail() { ok_ = false; }
  bool ok() const { return ok_; }
  std::size_t left() const { return rest_.size(); }

 private:
  std::basic_string_view<std::uint8_t> rest_;
  bool ok_ = true;
};

}  // namespace fairlead
