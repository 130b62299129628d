// Numbers from text, exactly and without allocation.
//
// Each function reads the whole text, without surrounding blanks. It returns the number, or a fixed phrase that
// describes a valid text. The caller adds the place and the field's name: "jobs.csv:12:7: gpus must be a whole number
// from 1 to 1000000: x3".
#pragma once

#include "fairlead/base/units.h"

#include <tl/expected.hpp>

#include <cstdint>
#include <string_view>

namespace fairlead {

template <class T>
using Parsed = tl::expected<T, std::string_view>;

// The text without blanks and tabs at its ends.
std::string_view trimmed(std::string_view text);

// A whole number, with or without sign. Zero decimals, as spreadsheets write them ("8.0"), are
// accepted.
Parsed<std::int64_t> parse_integer(std::string_view text);
// A number with optional fraction and exponent; not "nan" or "inf".
Parsed<double> parse_number(std::string_view text);
// Parses seconds, with optional fraction and exponent, as milliseconds rounded up: exact for any number of digits.
// Errors: negative, not a number, or more than kMsMax.
Parsed<std::int64_t> parse_seconds(std::string_view text);
// The same of a number of `unit`s. REQUIRES: unit is from 1 ms to a day.
Parsed<std::int64_t> parse_units(std::string_view text, Duration unit);

}  // namespace fairlead
