#include "fairlead/measure/profile_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>

namespace fairlead {
namespace {

constexpr std::uint32_t kKbMax = 4'000'000'000;  // 4 TB
constexpr std::uint32_t kWorkersMax = 1'000'000;
constexpr std::uint32_t kSamplesMax = 1'000'000'000;

// Takes off the next word; empty at the end, or if two spaces follow each other.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

// Takes off a whole number of decimal digits.
std::optional<std::uint32_t> take_number(std::string_view& line, std::uint32_t most) {
  const std::string_view word = take_word(line);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool is_number = !word.empty() && error == std::errc() && end == word.data() + word.size();
  return is_number && value <= most ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<JobProfile> parse_profile(std::string_view line) {
  for (int word = 0; word < 3; ++word) take_word(line);  // done, total, unit
  constexpr std::array<std::uint32_t, 6> kMost = {kKbMax,      kKbMax,      kKbMax,
                                                  kWorkersMax, kSamplesMax, ~std::uint32_t{0}};
  std::array<std::uint32_t, kMost.size()> numbers{};
  for (std::size_t i = 0; i < kMost.size(); ++i) {
    const auto number = take_number(line, kMost[i]);
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  const JobProfile profile{.parameters_kb = numbers[0],
                           .gradients_kb = numbers[1],
                           .largest_tensor_kb = numbers[2],
                           .workers = numbers[3],
                           .samples = numbers[4],
                           .step_us = 1};
  if (!line.empty() || !profile.is_plausible()) return std::nullopt;
  return profile;
}

}  // namespace fairlead
