#include "fairlead/measure/output_meter.h"

#include "fairlead/io/io.h"

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// A training, its validation, and two that came before them.
constexpr std::size_t kSeriesMax = 4;

}  // namespace

void OutputMeter::run(Time now) {
  since_ = now;
  for (Series& series : all_) series.meter.run(now);
}

void OutputMeter::pause(Time now) {
  ran_ = ran(now);
  since_ = Time::never();
  for (Series& series : all_) series.meter.pause(now);
}

void OutputMeter::read(Time now, std::uint64_t begin, std::string_view text) {
  // Lines were missed: how often a count began again meanwhile is not known.
  if (std::exchange(next_, begin) < begin) all_.clear();
  std::size_t from = 0;
  for (;;) {
    const std::size_t end = text.find_first_of("\r\n", from);
    if (end == text.npos) break;
    const std::string line = plain_line(text.substr(from, end - from));
    if (const auto step = parse_output_line(line)) take(*step);
    from = end + 1;
  }
  // An incomplete line is read again, unless it is longer than a part.
  next_ += from == 0 && text.size() >= kOutputBytesMax ? text.size() : from;
  for (Series& series : all_) {
    series.age = ran(now) - series.from;
    if (!std::exchange(series.is_new, false)) continue;
    if (!series.meter.last()) {
      if (since_ != Time::never()) series.meter.run(now);
      series.from = ran(now);
    }
    series.ran = ran(now) - series.from;
    series.meter.told(now, {series.before + series.step.done, 0, "steps"});
  }
}

void OutputMeter::take(const PrintedStep& step) {
  Series& series = series_of(step);
  if (step.done < series.step.done) {
    series.before += step.total > 0 ? step.total : series.step.done;
    series.begins_again = true;
  }
  series.step = step;
  series.is_new = true;
}

// Counts of one program and one total are one series: the text before them often has the number of the epoch.
OutputMeter::Series& OutputMeter::series_of(const PrintedStep& step) {
  const auto found = std::ranges::find_if(all_, [&](const Series& series) {
    return series.step.format == step.format && series.step.total == step.total;
  });
  if (found != all_.end()) return *found;
  if (all_.size() == kSeriesMax) all_.erase(std::ranges::min_element(all_, {}, &Series::ran));
  return all_.emplace_back(Series{.step = step});
}

const OutputMeter::Series* OutputMeter::counting() const {
  const auto longest = std::ranges::max_element(all_, {}, &Series::ran);
  return longest == all_.end() ? nullptr : &*longest;
}

std::optional<Progress> OutputMeter::last() const {
  const Series* series = counting();
  if (series == nullptr) return std::nullopt;
  const bool is_whole = !series->step.is_epoch && !series->begins_again;
  return Progress{series->before + series->step.done, is_whole ? series->step.total : 0, "steps"};
}

std::optional<double> OutputMeter::rate() const {
  const Series* series = counting();
  if (series == nullptr) return std::nullopt;
  if (const auto measured = series->meter.rate(kOutputMin)) return measured;
  const bool is_old = series->age >= kOutputMin;
  return is_old && series->step.step_per_s > 0 ? std::optional(series->step.step_per_s)
                                               : std::nullopt;
}

}  // namespace fairlead
