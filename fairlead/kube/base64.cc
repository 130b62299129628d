#include "fairlead/kube/base64.h"

#include <cstdint>

namespace fairlead {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

std::string base64_encoded(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view three = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t b = 0; b < 3; ++b) {
      bits = (bits << 8) | (b < three.size() ? static_cast<unsigned char>(three[b]) : 0U);
    }
    for (std::size_t d = 0; d < 4; ++d) {
      text.push_back(d <= three.size() ? kDigits[(bits >> (18 - 6 * d)) & 63] : '=');
    }
  }
  return text;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int count = 0;  // number of bits that are not in `bytes` yet
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const int value = base64_value(c);
    if (value < 0 || padding > 0) return std::nullopt;
    bits = ((bits << 6) | static_cast<std::uint32_t>(value)) & 0xfffff;
    ++digits;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>((bits >> count) & 0xff));
  }
  const bool fits = padding == 0 || (padding <= 2 && (digits + padding) % 4 == 0);
  if (digits % 4 == 1 || !fits) return std::nullopt;
  return bytes;
}

}  // namespace fairlead
