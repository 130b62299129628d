// KeyOrder: the order of rows by a key of 64 bits, for sorts of many rows in every decision.
//
// Few rows are sorted by comparison, many by radix: least significant digit first, without the digits that all keys
// share.
//
// add: O(1). rising: O(rows), or O(rows log rows) for few rows. No allocation once warm.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace fairlead {

// Returns a key that rises with the value. REQUIRES: it is a number. -0 comes before 0.
inline std::uint64_t rising_key(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
inline std::uint64_t falling_key(double value) { return ~rising_key(value); }

class KeyOrder {
 public:
  struct Row {
    std::uint64_t key = 0;
    std::uint32_t row = 0;
  };

  void clear() {
    rows_.clear();
    taken_ = 0;
  }
  // Adds the next row: the first is 0. REQUIRES: next() was not called since clear().
  void add(std::uint64_t key) { rows_.push_back({key, static_cast<std::uint32_t>(rows_.size())}); }

  // Returns the rows by rising keys, and equal keys by rising row. Valid until the next add or clear.
  std::span<const Row> rising() { return next(rows_.size()); }
  // The same with equal keys in the order before(row, row).
  template <class Before>
  std::span<const Row> rising(const Before& before) {
    return next(rows_.size(), before);
  }
  // Returns the next `count` rows of that order, or all that are left; empty: there are no more. If few are
  // needed, the others are not sorted. O(rows left + count).
  std::span<const Row> next(std::size_t count) { return next(count, std::less<std::uint32_t>()); }

 private:
  static constexpr std::size_t kRadixMin = 1024;  // measured: below it comparisons are as fast
  static constexpr unsigned kDigitBits = 11;      // counts of a digit fit the first-level cache
  static constexpr unsigned kDigits = (64 + kDigitBits - 1) / kDigitBits;
  static constexpr std::size_t kValues = std::size_t{1} << kDigitBits;

  static std::size_t digit(std::uint64_t key, unsigned at) {
    return static_cast<std::size_t>(key >> (at * kDigitBits)) & (kValues - 1);
  }

  template <class Before>
  std::span<const Row> next(std::size_t count, const Before& before) {
    const auto is_before = [&](const Row& a, const Row& b) {
      return a.key != b.key ? a.key < b.key : before(a.row, b.row);
    };
    const std::span left = std::span(rows_).subspan(taken_);
    const std::span part = left.first(std::min(count, left.size()));
    if (part.size() < left.size()) {
      std::nth_element(left.begin(), part.end(), left.end(), is_before);
    }
    taken_ += part.size();
    if (part.size() < kRadixMin) {
      std::ranges::sort(part, is_before);
      return part;
    }
    sort_by_radix(part);
    for (auto first = part.begin(); first != part.end();) {
      const auto last =
          std::find_if(first, part.end(), [&](const Row& r) { return r.key != first->key; });
      // Radix keeps equal keys in the order of their rows, which is often the one asked for.
      if (last - first > 1 && !std::is_sorted(first, last, is_before)) {
        std::sort(first, last, is_before);
      }
      first = last;
    }
    return part;
  }

  void sort_by_radix(std::span<Row> part) {
    counts_.assign(kDigits, {});
    for (const Row& row : part) {
      for (unsigned at = 0; at < kDigits; ++at) ++counts_[at][digit(row.key, at)];
    }
    spare_.resize(part.size());
    std::span<Row> from = part;
    std::span<Row> to = spare_;
    for (unsigned at = 0; at < kDigits; ++at) {
      std::array<std::uint32_t, kValues>& count = counts_[at];
      if (count[digit(from.front().key, at)] == from.size()) continue;
      std::uint32_t before = 0;
      for (std::uint32_t& each : count) before += std::exchange(each, before);
      for (const Row& row : from) to[count[digit(row.key, at)]++] = row;
      std::swap(from, to);
    }
    if (from.data() != part.data()) std::ranges::copy(from, part.begin());
  }

  std::vector<Row> rows_;
  std::size_t taken_ = 0;  // rows that next() returned: the first ones, in order
  std::vector<Row> spare_;
  std::vector<std::array<std::uint32_t, kValues>> counts_;  // by digit
};

}  // namespace fairlead
