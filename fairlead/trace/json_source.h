// A trace as a stream for the JSON parser.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/model/workload.h"

#include <cstdint>
#include <optional>
#include <streambuf>

namespace fairlead {

// Makes a ByteSource a stream for the JSON parser, and knows the position that the parser reached.
class SourceBuffer : public std::streambuf {
 public:
  explicit SourceBuffer(ByteSource& source) : source_(source) {}

  const std::optional<Error>& error() const { return error_; }
  // Returns the position of the last character taken. Amortised O(1) per character.
  Where where() {
    for (; counted_ < gptr(); ++counted_) {
      column_ = at_line_end_ ? 1 : column_ + 1;
      line_ += at_line_end_ ? 1 : 0;
      at_line_end_ = *counted_ == '\n';
    }
    return Where(source_.name(), line_, column_);
  }

 protected:
  int_type underflow() override {
    where();
    source_.consume(static_cast<std::size_t>(egptr() - eback()));
    auto bytes = source_.peek(1);
    if (!bytes) error_ = bytes.error();
    if (!bytes || bytes->empty()) {
      setg(nullptr, nullptr, nullptr);
      counted_ = nullptr;
      return traits_type::eof();
    }
    // A streambuf's interface predates const; reading does not write.
    char* begin = const_cast<char*>(bytes->data());
    setg(begin, begin, begin + bytes->size());
    counted_ = begin;
    return traits_type::to_int_type(*begin);
  }

 private:
  ByteSource& source_;
  std::optional<Error> error_;
  const char* counted_ = nullptr;  // up to here, line_ and column_ count
  std::int64_t line_ = 1;
  std::int64_t column_ = 0;
  bool at_line_end_ = false;
};

}  // namespace fairlead
