// JSON written piece by piece, for values too large for memory: columns of a million numbers.
//
// The writer puts commas between the items of a list or object; the caller closes open lists and objects. Numbers have
// no more digits than they need.
#pragma once

#include "fairlead/base/units.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace fairlead {

class JsonText {
 public:
  using Output = std::function<void(std::string_view)>;
  // Passes the text to `output` in pieces.
  explicit JsonText(Output output) : output_(std::move(output)) {}

  void begin(char bracket);  // '{' or '['
  void end(char bracket);    // '}' or ']'
  // The next value belongs to this key. REQUIRES: the key needs no escapes.
  void key(std::string_view name);
  // Bytes that are not UTF-8 become U+FFFD.
  void text(std::string_view value);
  void integer(std::int64_t value);
  // At most four decimals; null if it is not finite.
  void number(double value);
  // Seconds with at most three decimals, so that no millisecond is lost.
  void seconds(Duration value);
  void null() { raw("null"); }
  // A value that is JSON already.
  void raw(std::string_view json);
  // Passes on the buffered text.
  void flush();

  // Writes "name": [...], an item by each call of write(item).
  template <class Items, class Write>
  void column(std::string_view name, const Items& items, Write write) {
    key(name);
    begin('[');
    for (const auto& item : items) write(item);
    end(']');
  }

 private:
  void separate();
  void trim_zeros(std::size_t from);

  Output output_;
  std::string buffer_;
  bool first_ = true;  // the open list or object is empty, or a key waits for its value
};

}  // namespace fairlead
