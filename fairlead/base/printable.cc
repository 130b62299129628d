#include "fairlead/base/printable.h"

#include <cstddef>

namespace fairlead {
namespace {

// Returns the bytes of the character at the start of the text, if it must not be shown; else 0. REQUIRES: the text is not
// empty. The directions are the characters of Unicode's property Bidi_Control.
std::size_t hidden_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto is_within = [&](std::size_t i, unsigned first, unsigned last) {
    return byte(i) >= first && byte(i) <= last;
  };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && is_within(1, 0x80, 0x9f))
    return 2;                                        // the second block of control characters
  if (byte(0) == 0xd8 && byte(1) == 0x9c) return 2;  // U+061C
  if (byte(0) != 0xe2) return 0;
  const bool is_mark = byte(1) == 0x80 && is_within(2, 0x8e, 0x8f);       // U+200E, U+200F
  const bool is_embedding = byte(1) == 0x80 && is_within(2, 0xaa, 0xae);  // U+202A to U+202E
  const bool is_isolate = byte(1) == 0x81 && is_within(2, 0xa6, 0xa9);    // U+2066 to U+2069
  return is_mark || is_embedding || is_isolate ? 3 : 0;
}

}  // namespace

bool is_printable(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(1)) {
    if (hidden_bytes(text) > 0) return false;
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t hidden = hidden_bytes(text);
    shown += hidden > 0 ? '?' : text.front();
    text.remove_prefix(hidden > 0 ? hidden : 1);
  }
  return shown;
}

}  // namespace fairlead
