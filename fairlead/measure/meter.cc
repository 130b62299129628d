#include "fairlead/measure/meter.h"

#include "fairlead/base/parse.h"

#include <algorithm>
#include <cmath>

namespace fairlead {

namespace {

constexpr std::size_t kUnitBytesMax = 16;  // a word; the text is a user's

bool is_unit(std::string_view text) {
  return text.size() <= kUnitBytesMax && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
         });
}

}  // namespace

std::optional<Progress> parse_progress(std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const auto done = parse_number(line.substr(0, space));
  if (!done || !(*done >= 0) || !std::isfinite(*done)) return std::nullopt;
  line.remove_prefix(std::min(space + 1, line.size()));
  const std::size_t end = std::min(line.find(' '), line.size());
  const auto total = parse_number(line.substr(0, end));
  const bool has_total = total && std::isfinite(*total) && *total >= *done;
  line.remove_prefix(total ? std::min(end + 1, line.size()) : 0);
  const std::string_view unit = line.substr(0, std::min(line.find(' '), line.size()));
  return Progress{*done, has_total ? *total : 0, std::string(is_unit(unit) ? unit : "")};
}

void Meter::pause(Time now) {
  ran_ = ran(now);
  since_ = Time::never();
}

void Meter::told(Time now, const Progress& progress) {
  if (last_ && progress.done == last_->done) return;
  const bool goes_back = last_ && progress.done < last_->done;
  last_ = progress;
  const Sample sample{ran(now), progress.done};
  if (!from_ || goes_back) {  // the task has started, or loaded an older checkpoint
    from_ = sample;
    middle_.reset();
    to_.reset();
    return;
  }
  to_ = sample;
  if (!middle_ && sample.ran - from_->ran >= kMeterSpan) middle_ = sample;
  if (middle_ && sample.ran - middle_->ran >= kMeterSpan) {
    from_ = middle_;
    middle_ = sample;
  }
}

std::optional<double> Meter::rate(Duration least) const {
  if (!from_ || !to_ || to_->ran - from_->ran < least) return std::nullopt;
  return (to_->done - from_->done) / to_seconds(to_->ran - from_->ran);
}

}  // namespace fairlead
