// Reads the data back out of a report, for tests.
#pragma once

#include <zlib.h>

#include <array>
#include <string>
#include <string_view>

namespace fairlead {

inline std::string base64_decoded(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text.substr(0, text.find('='))) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return "not base64";
    bits = bits << 6 | static_cast<unsigned>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

inline std::string gunzipped(std::string bytes) {
  constexpr int kGzipHeader = 16;
  z_stream stream = {};
  inflateInit2(&stream, MAX_WBITS + kGzipHeader);
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::array<char, 1 << 16> out;
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(out.data(), out.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END ? text : "not gzip";
}

// Returns the text between `before` and `after` in the page.
inline std::string report_data_of(std::string_view html, std::string_view before,
                                  std::string_view after) {
  const std::size_t begin = html.find(before);
  if (begin == std::string_view::npos) return "no data";
  html.remove_prefix(begin + before.size());
  return gunzipped(base64_decoded(html.substr(0, html.find(after))));
}

}  // namespace fairlead
