#include "fairlead/pods/slots.h"

#include "fairlead/base/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace fairlead {

std::string gpus_text(std::uint64_t gpus) {
  std::string text;
  for (; gpus != 0; gpus &= gpus - 1) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", std::countr_zero(gpus));
  }
  return text;
}

std::uint64_t parse_gpus(std::string_view text) {
  std::uint64_t gpus = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const auto gpu = parse_integer(text.substr(0, end));
    if (!gpu || *gpu < 0 || *gpu > 63) return 0;
    gpus |= std::uint64_t{1} << *gpu;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return gpus;
}

std::string wish_text(bool runs, std::string_view version) {
  return fmt::format("{} {}", runs ? "true" : "false", version);
}

std::uint64_t wish_version(std::string_view wish) {
  const std::size_t blank = wish.find(' ');
  if (blank == std::string_view::npos) return 0;
  return static_cast<std::uint64_t>(parse_integer(wish.substr(blank + 1)).value_or(0));
}

std::uint64_t lowest_gpus(std::uint64_t gpus, std::uint32_t count) {
  std::uint64_t lowest = 0;
  for (; count > 0 && gpus != 0; --count, gpus &= gpus - 1) lowest |= gpus & (~gpus + 1);
  return lowest;
}

}  // namespace fairlead
